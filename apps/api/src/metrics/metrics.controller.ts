import { Controller, Get, Header, Req } from '@nestjs/common';
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
    'Reads the metrics of an account and of this process. With `METRICS_OPEN`, no key is needed, and the answer has all accounts',
    [],
  )
  @AnswersWith(200, 'Metrics in the text format of Prometheus', {
    content: { 'text/plain': { schema: z.string(), example: EXAMPLE } },
  })
  async read(@Req() { key }: Caller): Promise<string> {
    // Without a key, the port itself is the operator's.
    if (key === undefined) return this.neighbours.metrics();
    await this.business.refresh();
    return this.metrics.registry.metrics();
  }
}
