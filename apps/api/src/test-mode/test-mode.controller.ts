import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { Answers, Describes, Tag } from '../openapi/decorators.js';
import { READ_PROBLEMS } from '../openapi/problem-sets.js';
import {
  markCharge,
  markedCharge,
  markPath,
  type MarkCharge,
  type MarkedCharge,
  type MarkPath,
} from './test-mode.schema.js';
import { TestModeService } from './test-mode.service.js';

@Tag('test mode')
@Controller('v1/test-mode')
export class TestModeController {
  constructor(private readonly testMode: TestModeService) {}

  @Post('charges/:id/mark')
  @HttpCode(200)
  @Describes(
    'markCharge',
    'Marks a pending charge as paid or failed, as a customer would. Only with a test key of the provider',
    [...READ_PROBLEMS, 'live_mode', 'outcome_unknown'],
  )
  @Answers(200, 'The charge after the change', markedCharge)
  mark(
    @Param({ schema: markPath }) { id }: MarkPath,
    @Body({ schema: markCharge }) body: MarkCharge,
  ): Promise<MarkedCharge> {
    return this.testMode.mark(id, body);
  }
}
