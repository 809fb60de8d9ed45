import { Injectable } from '@nestjs/common';
import { PaymentsClient, type Document, type Dispute } from '@tillflow/payments-client';
import type { Asker } from '../auth/caller.js';
import { Commands } from '../commands/commands.service.js';
import type { Changed, Removed } from '../commands/commands.schema.js';
import type { ListQuery, Page } from '../provider/lists.schema.js';
import { ProviderLists } from '../provider/provider-lists.js';
import { ProviderReads } from '../provider/provider-reads.js';
import type { DocumentPath } from './disputes.schema.js';

/** Contested payments and their documents. */
@Injectable()
export class DisputesService {
  constructor(
    private readonly provider: PaymentsClient,
    private readonly commands: Commands,
    private readonly reads: ProviderReads,
    private readonly lists: ProviderLists,
  ) {}

  async get(id: string): Promise<Dispute> {
    return this.reads.read((options) => this.provider.disputes.retrieve(id, options));
  }

  documents(id: string, query: ListQuery): Promise<Page<Document>> {
    const { disputes } = this.provider;
    return this.lists.page(`documents ${id}`, query, (params, options) => disputes.listDocuments(id, params, options));
  }

  async document({ id, document_id: document }: DocumentPath): Promise<Document> {
    return this.reads.read((options) => this.provider.disputes.retrieveDocument(id, document, options));
  }

  /** @throws {Problem} `documents_locked`. A second call changes nothing. */
  async remove({ id: dispute, document_id: document }: DocumentPath, asker: Asker): Promise<Changed<Removed>> {
    const carried = await this.commands.carryOut({ kind: 'delete_document', dispute, document }, asker);
    if (carried.kind === 'pending') return { reply: { status: 'pending', detail: carried.detail }, status: 202 };
    return { reply: { id: document, deleted: true }, status: 200 };
  }
}
