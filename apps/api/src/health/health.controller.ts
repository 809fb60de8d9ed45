import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { OpenUnlimited } from '../auth/access.js';
import { Answers, DescribesOpen } from '../openapi/decorators.js';
import { Problem } from '../problems/problem.js';
import { Readiness } from './readiness.js';

const health = z.object({ status: z.literal('ok') }).meta({ id: 'Health' });

@ApiTags('health')
@Controller('health')
export class HealthController {
  constructor(private readonly readiness: Readiness) {}

  @Get('live')
  @OpenUnlimited()
  @DescribesOpen('live', 'Says that the process answers', [])
  @Answers(200, 'The process answers', health, { status: 'ok' })
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }

  @Get('ready')
  @OpenUnlimited()
  @DescribesOpen('ready', 'Says whether the API can work', ['temporal_unavailable'])
  @Answers(200, 'Temporal answers too', health, { status: 'ok' })
  async ready(): Promise<{ status: 'ok' }> {
    if (await this.readiness.isReady()) return { status: 'ok' };
    throw new Problem('temporal_unavailable', 'Temporal does not answer', { retryAfterSeconds: 2 });
  }
}
