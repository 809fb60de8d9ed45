import { Controller, Delete, Get, Param, Post, Query, Req, Res } from '@nestjs/common';
import type { Document, Dispute } from '@tillflow/payments-client';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AskedBy, type Asker } from '../auth/caller.js';
import { pendingChange, removed, type PendingChange, type Removed } from '../commands/commands.schema.js';
import { Answers, Describes, Tag, type Link } from '../openapi/decorators.js';
import { COMMAND_PROBLEMS, READ_PROBLEMS } from '../openapi/problem-sets.js';
import { listQuery, type ListQuery, type Page } from '../provider/lists.schema.js';
import {
  disputePath,
  disputeReply,
  documentPath,
  documentReply,
  documentsReply,
  evidenceBody,
  evidenceReply,
  type DisputePath,
  type DocumentPath,
  type EvidenceReply,
} from './disputes.schema.js';
import { DisputesService } from './disputes.service.js';
import { EvidenceService } from './evidence.service.js';

const LINKS: readonly Link[] = [
  { operationId: 'listEvidence', parameters: { id: '$request.path.id' } },
  {
    operationId: 'getEvidence',
    parameters: { id: '$request.path.id', document_id: '$response.body#/data/0/document/id' },
  },
];

@Tag('disputes')
@Controller('v1/disputes/:id')
export class DisputesController {
  constructor(
    private readonly disputes: DisputesService,
    private readonly evidence: EvidenceService,
  ) {}

  @Get()
  @Describes('getDispute', 'Reads a dispute', READ_PROBLEMS)
  @Answers(200, 'The dispute as the provider shows it', disputeReply)
  get(@Param({ schema: disputePath }) { id }: DisputePath): Promise<Dispute> {
    return this.disputes.get(id);
  }

  @Post('evidence')
  @Describes(
    'addEvidence',
    'Adds documents to a dispute: PNG, JPEG or PDF, at most 10 MB each, at most 10 in a request',
    [
      ...READ_PROBLEMS,
      'upload_incomplete',
      'documents_locked',
      'file_too_large',
      'unsupported_file_type',
      'too_many_uploads',
      'outcome_unknown',
    ],
    {
      body: {
        type: 'multipart/form-data',
        schema: evidenceBody,
        encoding: { file: { contentType: 'image/png, image/jpeg, application/pdf' } },
      },
    },
  )
  @Answers(201, 'All documents are stored', evidenceReply, { links: LINKS })
  @Answers(200, 'All documents were already stored', evidenceReply, { links: LINKS })
  @Answers(
    207,
    'Some documents were not stored, or it is not known whether they were. See the `status` of each',
    evidenceReply,
  )
  async add(
    @Param({ schema: disputePath }) { id }: DisputePath,
    @Req() request: FastifyRequest,
    @AskedBy() asker: Asker,
    @Res({ passthrough: true }) answer: FastifyReply,
  ): Promise<EvidenceReply> {
    const { evidence, status } = await this.evidence.store(id, request.raw, asker);
    void answer.status(status);
    return evidence;
  }

  @Get('evidence')
  @Describes('listEvidence', 'Lists the documents of a dispute', READ_PROBLEMS)
  @Answers(200, 'One page of documents', documentsReply)
  documents(
    @Param({ schema: disputePath }) { id }: DisputePath,
    @Query({ schema: listQuery }) query: ListQuery,
  ): Promise<Page<Document>> {
    return this.disputes.documents(id, query);
  }

  @Get('evidence/:document_id')
  @Describes('getEvidence', 'Reads a document of a dispute', READ_PROBLEMS)
  @Answers(200, 'The document as the provider shows it', documentReply)
  document(@Param({ schema: documentPath }) path: DocumentPath): Promise<Document> {
    return this.disputes.document(path);
  }

  @Delete('evidence/:document_id')
  @Describes('removeEvidence', 'Removes a document from a dispute', [...COMMAND_PROBLEMS, 'documents_locked'])
  @Answers(200, 'The document is removed', removed)
  @Answers(202, 'The outcome is not known yet. Repeat the request', pendingChange)
  async remove(
    @Param({ schema: documentPath }) path: DocumentPath,
    @AskedBy() asker: Asker,
    @Res({ passthrough: true }) answer: FastifyReply,
  ): Promise<Removed | PendingChange> {
    const { reply, status } = await this.disputes.remove(path, asker);
    void answer.status(status);
    return reply;
  }
}
