import { Controller, Get, Headers, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { dayToCsv } from '@tillflow/domain';
import { z } from 'zod';
import { AnswersWith, Describes, Tag } from '../openapi/decorators.js';
import {
  dayReportCsvExample,
  dayReportPath,
  dayReportReply,
  readDayReport,
  type DayReportPath,
  type DayReportReply,
  type ReadDayReport,
} from './day-reports.schema.js';
import { DayReportsService } from './day-reports.service.js';
import { acceptedType } from '../shared/accepted-type.js';

/** The first one is the default. */
const TYPES = ['application/json', 'text/csv'] as const;

@Tag('reconciliations')
@Controller('v1/day-reports')
export class DayReportsController {
  constructor(private readonly reports: DayReportsService) {}

  @Get(':date')
  @Describes('getDayReport', 'Reads the totals of a business day for each store, till and currency', [
    'checkout_unreadable',
    'not_acceptable',
    'not_found',
    'overloaded',
    'temporal_unavailable',
  ])
  @AnswersWith(200, 'The report, as `Accept` asks: JSON or one table (CSV). Default: JSON', {
    content: {
      'application/json': { schema: dayReportReply },
      'text/csv': { schema: z.string(), example: dayReportCsvExample },
    },
    headers: ['Vary'],
  })
  async get(
    @Param({ schema: dayReportPath }) { date }: DayReportPath,
    @Query({ schema: readDayReport }) filters: ReadDayReport,
    @Headers('accept') accept: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<DayReportReply | string> {
    void reply.header('vary', 'Accept');
    const type = acceptedType(accept, TYPES);
    const report = await this.reports.read(date, filters);
    if (type === 'application/json') return report;
    void reply.type('text/csv; charset=utf-8');
    return dayToCsv(report);
  }
}
