import { Body, Controller, Get, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { AskedBy, type Asker } from '../auth/caller.js';
import { Answers, AnswersWith, Describes, Tag } from '../openapi/decorators.js';
import {
  acknowledgeBreak,
  breakPath,
  breakReply,
  exportExample,
  exportReconciliation,
  listReconciliations,
  reconciliationPath,
  reconciliationReply,
  reconciliationsReply,
  reconciliationStarted,
  startReconciliation,
  type AcknowledgeBreak,
  type BreakPath,
  type BreakReply,
  type ExportReconciliation,
  type ListReconciliations,
  type ReconciliationPath,
  type ReconciliationReply,
  type ReconciliationsReply,
  type ReconciliationStarted,
  type StartReconciliation,
} from './reconciliations.schema.js';
import { ReconciliationsService } from './reconciliations.service.js';

const AT_LOCATION = {
  headers: ['Location'],
  links: ['getReconciliation', 'exportReconciliation'].map((operationId) => ({
    operationId,
    parameters: { id: '$response.body#/id' },
  })),
} as const;

@Tag('reconciliations')
@Controller('v1/reconciliations')
export class ReconciliationsController {
  constructor(private readonly reconciliations: ReconciliationsService) {}

  @Post()
  @HttpCode(202)
  @Describes('startReconciliation', "Compares the payments of a window with the provider's records", [
    'temporal_unavailable',
  ])
  @Answers(
    202,
    'The reconciliation has started, or one of the same window was already running. Read `location`',
    reconciliationStarted,
    AT_LOCATION,
  )
  async start(
    @Body({ schema: startReconciliation }) body: StartReconciliation,
    @AskedBy() asker: Asker,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ReconciliationStarted> {
    const started = await this.reconciliations.start(body, asker);
    void reply.header('location', started.location);
    return started;
  }

  @Get()
  @Describes('listReconciliations', 'Lists reconciliations', ['temporal_unavailable'])
  @Answers(200, 'Running reconciliations first, then the newest', reconciliationsReply)
  list(@Query({ schema: listReconciliations }) query: ListReconciliations): Promise<ReconciliationsReply> {
    return this.reconciliations.list(query);
  }

  @Get(':id')
  @Describes('getReconciliation', 'Reads a reconciliation', ['not_found', 'temporal_unavailable'])
  @Answers(200, 'The reconciliation and what it has found', reconciliationReply)
  get(@Param({ schema: reconciliationPath }) { id }: ReconciliationPath): Promise<ReconciliationReply> {
    return this.reconciliations.get(id);
  }

  @Get(':id/export')
  @Describes('exportReconciliation', 'Exports what a reconciliation found, with totals for each currency', [
    'not_found',
    'reconciliation_incomplete',
    'temporal_unavailable',
  ])
  @AnswersWith(200, 'One table (CSV), or the reconciliation as `getReconciliation` answers it (JSON)', {
    content: {
      'text/csv': { schema: z.string(), example: exportExample },
      'application/json': { schema: reconciliationReply },
    },
    headers: ['Content-Disposition'],
  })
  async export(
    @Param({ schema: reconciliationPath }) { id }: ReconciliationPath,
    @Query({ schema: exportReconciliation }) { format }: ExportReconciliation,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ReconciliationReply | string> {
    const body = format === 'csv' ? await this.reconciliations.csv(id) : await this.reconciliations.completed(id);
    void reply.header('content-disposition', `attachment; filename="${id.replaceAll(':', '')}.${format}"`);
    if (format === 'csv') void reply.type('text/csv; charset=utf-8');
    return body;
  }

  @Post(':id/breaks/:n/acknowledge')
  @HttpCode(200)
  @Describes('acknowledgeBreak', 'Acknowledges a break, so that later reconciliations do not report it', [
    'not_found',
    'reconciliation_incomplete',
    'temporal_unavailable',
  ])
  @Answers(200, 'The break. Once it is acknowledged, a repeated request changes nothing', breakReply)
  acknowledge(
    @Param({ schema: breakPath }) path: BreakPath,
    @Body({ schema: acknowledgeBreak }) body: AcknowledgeBreak,
    @AskedBy() asker: Asker,
  ): Promise<BreakReply> {
    return this.reconciliations.acknowledge(path, body, asker);
  }
}
