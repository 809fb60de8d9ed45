import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Open } from '../auth/auth.guard.js';
import { Problem } from '../problems/problem.js';
import { TemporalAccess } from '../temporal.provider.js';

const READY_WITHIN_MS = 1_000;

@ApiTags('health')
@Controller('health')
export class HealthController {
  constructor(private readonly temporal: TemporalAccess) {}

  @Get('live')
  @Open()
  @ApiOkResponse({ description: 'The process answers' })
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }

  @Get('ready')
  @Open()
  @ApiOkResponse({ description: 'Temporal answers too' })
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
