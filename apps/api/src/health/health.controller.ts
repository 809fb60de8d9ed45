import { Controller, Get } from '@nestjs/common';
import { z } from 'zod';
import { Answers, Describes, Tag } from '../openapi/decorators.js';
import { Problem } from '../problems/problem.js';
import { Readiness } from './readiness.js';

const health = z.object({ status: z.literal('ok') }).meta({ id: 'Health', examples: [{ status: 'ok' }] });

@Tag('health')
@Controller('health')
export class HealthController {
  constructor(private readonly readiness: Readiness) {}

  @Get('live')
  @Describes('getLiveness', 'Says whether the process answers', [])
  @Answers(200, 'The process answers', health)
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }

  @Get('ready')
  @Describes('getReadiness', 'Says whether the API can work', ['temporal_unavailable'])
  @Answers(200, 'Temporal answers as well', health)
  async ready(): Promise<{ status: 'ok' }> {
    if (await this.readiness.isReady()) return { status: 'ok' };
    throw new Problem('temporal_unavailable', 'Temporal does not answer', { retryAfterSeconds: 2 });
  }
}
