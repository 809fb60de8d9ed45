import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Open } from '../auth/auth.guard.js';
import { Answers, DescribesOpen } from '../openapi/decorators.js';
import { Problem } from '../problems/problem.js';
import { z } from 'zod';
import { TemporalAccess } from '../temporal.provider.js';

const READY_WITHIN_MS = 1_000;

const health = z.object({ status: z.literal('ok') }).meta({ id: 'Health' });

@ApiTags('health')
@Controller('health')
export class HealthController {
  constructor(private readonly temporal: TemporalAccess) {}

  @Get('live')
  @Open()
  @DescribesOpen('live', 'Says that the process answers', [])
  @Answers(200, 'The process answers', health, { status: 'ok' })
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }

  @Get('ready')
  @Open()
  @DescribesOpen('ready', 'Says whether the API can work', ['temporal_unavailable'])
  @Answers(200, 'Temporal answers too', health, { status: 'ok' })
  async ready(): Promise<{ status: 'ok' }> {
    try {
      await this.temporal.within(READY_WITHIN_MS, () =>
        this.temporal.connection.workflowService.describeNamespace({
          namespace: this.temporal.client.options.namespace,
        }),
      );
      return { status: 'ok' };
    } catch {
      throw new Problem('temporal_unavailable', 'Temporal does not answer', { retryAfterSeconds: 2 });
    }
  }
}
