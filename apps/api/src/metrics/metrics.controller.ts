import { Controller, Get, Header } from '@nestjs/common';
import { ApiBearerAuth, ApiResponse, ApiTags } from '@nestjs/swagger';
import { RequiresUnlessOpen } from '../auth/access.js';
import { Describes } from '../openapi/decorators.js';
import * as examples from '../openapi/examples.js';
import { BusinessMetrics } from './business.js';
import { Metrics } from './metrics.js';

@ApiTags('health')
@ApiBearerAuth()
@Controller('metrics')
export class MetricsController {
  constructor(
    private readonly metrics: Metrics,
    private readonly business: BusinessMetrics,
  ) {}

  @Get()
  @RequiresUnlessOpen('ops')
  @Header('content-type', 'text/plain; version=0.0.4; charset=utf-8')
  @Describes('readMetrics', 'Shows the metrics of the business and of this process, for Prometheus', [])
  @ApiResponse({
    status: 200,
    description: 'In the text format of Prometheus',
    content: { 'text/plain': { schema: { type: 'string' }, example: examples.metrics } },
  })
  async read(): Promise<string> {
    await this.business.refresh();
    return this.metrics.registry.metrics();
  }
}
