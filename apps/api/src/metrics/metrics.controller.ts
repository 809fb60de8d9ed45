import { Controller, Get, Header } from '@nestjs/common';
import { z } from 'zod';
import { RequiresUnlessOpen } from '../auth/access.js';
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
  ) {}

  @Get()
  @RequiresUnlessOpen('ops')
  @Header('content-type', 'text/plain; version=0.0.4; charset=utf-8')
  @Describes(
    'getMetrics',
    'Reads the metrics of the business and of this process. No key is needed with `METRICS_OPEN`',
    [],
  )
  @AnswersWith(200, 'Metrics in the text format of Prometheus', {
    content: { 'text/plain': { schema: z.string(), example: EXAMPLE } },
  })
  async read(): Promise<string> {
    await this.business.refresh();
    return this.metrics.registry.metrics();
  }
}
