import { Body, Controller, Get, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Requires } from '../auth/access.js';
import { AskedBy, type Asker } from '../auth/asker.js';
import { Answers, Describes } from '../openapi/decorators.js';
import * as examples from '../openapi/examples.js';
import {
  exportReconciliation,
  listReconciliations,
  reconciliationPath,
  reconciliationReply,
  reconciliationsReply,
  reconciliationStarted,
  startReconciliation,
  type ExportReconciliation,
  type ListReconciliations,
  type ReconciliationPath,
  type ReconciliationReply,
  type ReconciliationsReply,
  type ReconciliationStarted,
  type StartReconciliation,
} from './reconciliations.schema.js';
import { ReconciliationsService } from './reconciliations.service.js';

@ApiTags('reconciliations')
@ApiBearerAuth()
@Controller('v1/reconciliations')
export class ReconciliationsController {
  constructor(private readonly reconciliations: ReconciliationsService) {}

  @Post()
  @HttpCode(202)
  @Requires('ops')
  @Describes('startReconciliation', "Compares the payments of a window with the provider's books", [
    'invalid_request',
    'body_too_large',
    'unsupported_media_type',
    'temporal_unavailable',
  ])
  @Answers(
    202,
    'Begun, or joined: one of the same window was running. Read `location`',
    reconciliationStarted,
    examples.reconciliationStarted,
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
  @Requires('ops')
  @Describes('listReconciliations', 'Lists reconciliations', ['invalid_request', 'temporal_unavailable'])
  @Answers(200, 'Running ones first, then the newest', reconciliationsReply, examples.reconciliations)
  list(@Query({ schema: listReconciliations }) query: ListReconciliations): Promise<ReconciliationsReply> {
    return this.reconciliations.list(query);
  }

  @Get(':id')
  @Requires('ops')
  @Describes('getReconciliation', 'Reads a reconciliation', ['invalid_request', 'not_found', 'temporal_unavailable'])
  @Answers(200, 'What it has found', reconciliationReply, examples.reconciliation)
  get(@Param({ schema: reconciliationPath }) { id }: ReconciliationPath): Promise<ReconciliationReply> {
    return this.reconciliations.get(id);
  }

  @Get(':id/export')
  @Requires('ops')
  @Describes('exportReconciliation', 'Exports what a reconciliation found, with totals for each currency', [
    'invalid_request',
    'not_found',
    'reconciliation_incomplete',
    'temporal_unavailable',
  ])
  @Answers(200, 'One table, or the reconciliation as it is read', reconciliationReply, examples.reconciliation)
  @ApiResponse({
    status: 200,
    content: { 'text/csv': { schema: { type: 'string' }, example: examples.reconciliationCsv } },
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
}
