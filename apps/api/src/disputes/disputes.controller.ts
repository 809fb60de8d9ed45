import { Controller, Delete, Get, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiBody, ApiConsumes, ApiTags } from '@nestjs/swagger';
import type { Document, Dispute } from '@tillflow/payments-client';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Requires, RequiresForFiles } from '../auth/access.js';
import { AskedBy, type Asker } from '../auth/asker.js';
import { pendingChange, removed, type PendingChange, type Removed } from '../commands/pending.js';
import { Answers, Describes } from '../openapi/decorators.js';
import * as examples from '../openapi/resource-examples.js';
import { COMMAND_PROBLEMS, READ_PROBLEMS } from '../openapi/resource-problems.js';
import { listQuery, type ListQuery, type Page } from '../provider/lists.schema.js';
import {
  disputePath,
  disputeReply,
  documentPath,
  documentReply,
  documentsReply,
  evidenceReply,
  type DisputePath,
  type DocumentPath,
  type EvidenceReply,
} from './disputes.schema.js';
import { DisputesService } from './disputes.service.js';
import { EvidenceService } from './evidence.service.js';
import { MAX_FILES, MAX_KIND_LENGTH } from './upload.js';

@ApiTags('disputes')
@ApiBearerAuth()
@Controller('v1/disputes/:id')
export class DisputesController {
  constructor(
    private readonly disputes: DisputesService,
    private readonly evidence: EvidenceService,
  ) {}

  @Get()
  @Requires('ops')
  @Describes('getDispute', 'Reads a dispute', READ_PROBLEMS)
  @Answers(200, 'The dispute as the provider shows it', disputeReply, examples.dispute)
  get(@Param({ schema: disputePath }) { id }: DisputePath): Promise<Dispute> {
    return this.disputes.get(id);
  }

  @Post('evidence')
  @RequiresForFiles('ops')
  @ApiConsumes('multipart/form-data')
  @ApiBody({
    required: true,
    schema: {
      type: 'object',
      required: ['file'],
      properties: {
        file: { type: 'array', maxItems: MAX_FILES, items: { type: 'string', format: 'binary' } },
        kind: { type: 'string', maxLength: MAX_KIND_LENGTH, description: 'What it is evidence of. Free text' },
      },
    },
    examples: { one: { value: examples.evidenceRequest } },
  })
  @Describes('addEvidence', 'Hands in documents: PNG, JPEG or PDF, at most 10 MB each, at most 10 at a time', [
    ...READ_PROBLEMS,
    'upload_incomplete',
    'documents_locked',
    'file_too_large',
    'unsupported_media_type',
    'unsupported_file_type',
    'too_many_uploads',
    'outcome_unknown',
  ])
  @Answers(201, 'All are stored', evidenceReply, examples.evidence)
  @Answers(200, 'All were stored before', evidenceReply, examples.knownEvidence)
  @Answers(207, 'Some could not be stored: `status` of each says which', evidenceReply, examples.someEvidence)
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
  @Requires('ops')
  @Describes('listEvidence', 'Lists the documents of a dispute', READ_PROBLEMS)
  @Answers(200, 'One page of documents', documentsReply, examples.documents)
  documents(
    @Param({ schema: disputePath }) { id }: DisputePath,
    @Query({ schema: listQuery }) query: ListQuery,
  ): Promise<Page<Document>> {
    return this.disputes.documents(id, query);
  }

  @Get('evidence/:document_id')
  @Requires('ops')
  @Describes('getEvidence', 'Reads a document of a dispute', READ_PROBLEMS)
  @Answers(200, 'The document as the provider shows it', documentReply, examples.document)
  document(@Param({ schema: documentPath }) path: DocumentPath): Promise<Document> {
    return this.disputes.document(path);
  }

  @Delete('evidence/:document_id')
  @Requires('ops')
  @Describes('removeEvidence', 'Takes a document back', [...COMMAND_PROBLEMS, 'documents_locked'])
  @Answers(200, 'It is gone', removed, examples.removedDocument)
  @Answers(202, 'Its outcome is not known yet: repeat the request', pendingChange, examples.pendingChange)
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
