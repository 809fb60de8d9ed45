import { Controller, Get, Header, Req } from '@nestjs/common';
import { DEFAULT_ACCOUNT } from '@tillflow/domain';
import { z } from 'zod';
import { Neighbours } from '../accounts/neighbours.js';
import type { Caller } from '../auth/caller.js';
import { AnswersWith, Describes, Tag } from '../openapi/decorators.js';
import { BusinessMetrics } from './business.js';
import { Metrics } from './metrics.js';

const EXAMPLE = '# TYPE tillflow_attention_checkouts gauge\ntillflow_attention_checkouts{code="outcome_unknown"} 0\n';

@Tag('health')
@Controller('metrics')
export class MetricsController {
  constructor(
    private readonly metrics: Metrics,
    private readonly business: BusinessMetrics,
    private readonly neighbours: Neighbours,
  ) {}

  @Get()
  @Header('content-type', 'text/plain; version=0.0.4; charset=utf-8')
  @Describes(
    'getMetrics',
    'Reads the metrics of this process, and of all accounts. A key of another account than `default` reads those of its account. With `METRICS_OPEN`, no key is needed',
    [],
  )
  @AnswersWith(200, 'Metrics in the text format of Prometheus', {
    content: { 'text/plain': { schema: z.string(), example: EXAMPLE } },
  })
  async read(@Req() { key }: Caller): Promise<string> {
    // Of the installation: its operator reads them, by a key of `default` or, without a key, at an open port.
    if ((key?.account ?? DEFAULT_ACCOUNT) === DEFAULT_ACCOUNT) return this.neighbours.metrics();
    await this.business.refresh();
    return this.metrics.registry.metrics();
  }
}
