import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { ApiBearerAuth, ApiTags } from '@nestjs/swagger';
import { Requires } from '../auth/access.js';
import { Answers, Describes } from '../openapi/decorators.js';
import * as examples from '../openapi/resource-examples.js';
import { READ_PROBLEMS } from '../openapi/resource-problems.js';
import {
  markCharge,
  markedCharge,
  markPath,
  type MarkCharge,
  type MarkedCharge,
  type MarkPath,
} from './test-mode.schema.js';
import { TestModeService } from './test-mode.service.js';

@ApiTags('test mode')
@ApiBearerAuth()
@Controller('v1/test-mode')
export class TestModeController {
  constructor(private readonly testMode: TestModeService) {}

  @Post('charges/:id/mark')
  @HttpCode(200)
  @Requires('ops')
  @Describes('markCharge', 'Lets a pending charge be paid or refused, as a customer would; with a test key only', [
    ...READ_PROBLEMS,
    'live_mode',
    'body_too_large',
    'unsupported_media_type',
    'outcome_unknown',
  ])
  @Answers(200, 'The charge', markedCharge, examples.markedCharge)
  mark(
    @Param({ schema: markPath }) { id }: MarkPath,
    @Body({ schema: markCharge }) body: MarkCharge,
  ): Promise<MarkedCharge> {
    return this.testMode.mark(id, body);
  }
}
