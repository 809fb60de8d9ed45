import { ApiError } from '../http/api-error.js';
import { found, type ProviderContext } from './context.js';
import { documentTypeOf } from './document-type.js';
import type { UploadedFile } from '../http/multipart.js';
import type { DisputeRecord, DisputeStatus, DocumentRecord } from '../records/records.js';

export type NewDispute = Omit<DisputeRecord, 'createdAt' | 'closedAt' | 'documents' | 'currency'>;

/** The default kind of a document. Source: assumption. */
const DEFAULT_KIND = 'other';

/** Disputed charges and their documents. In the sandbox a dispute moves no money. */
export class Disputes {
  constructor(private readonly context: ProviderContext) {}

  /** @throws {ApiError} `not_found`. */
  dispute(id: string): DisputeRecord {
    return found(this.context.records.disputes.get(id), 'dispute', id);
  }

  /** @throws {ApiError} `not_found`, also for a document that was deleted. */
  document(disputeId: string, id: string): DocumentRecord {
    const { documents } = this.dispute(disputeId);
    return found(
      documents.find((document) => document.id === id),
      'document',
      id,
    );
  }

  open(dispute: NewDispute): DisputeRecord {
    const { records } = this.context;
    const charge = found(records.charges.get(dispute.chargeId), 'charge', dispute.chargeId);
    const now = this.context.now();
    const closedAt = isClosed(dispute.status) ? now : null;
    const opened = records.disputes.put({
      ...dispute,
      createdAt: now,
      currency: charge.currency,
      documents: [],
      closedAt,
    });
    records.charges.put({ ...charge, disputeId: opened.id });
    this.context.emit('dispute.create', { object: 'dispute', record: opened });
    return opened;
  }

  /** The issuer's decision. @throws {ApiError} `bad_request` when the dispute is closed. */
  move(id: string, status: DisputeStatus): DisputeRecord {
    const dispute = this.dispute(id);
    if (isClosed(dispute.status)) throw new ApiError('bad_request', `The dispute is closed: it is ${dispute.status}.`);
    const closed = isClosed(status);
    const moved = this.context.records.disputes.put({
      ...dispute,
      status,
      closedAt: closed ? this.context.now() : null,
    });
    this.context.emit(closed ? 'dispute.close' : 'dispute.update', { object: 'dispute', record: moved });
    return moved;
  }

  /**
   * @throws {ApiError} `documents_locked` when the dispute is not open, `invalid_file_type`, `bad_request` when too
   * large.
   */
  attach(disputeId: string, file: UploadedFile, kind: string | null): DocumentRecord {
    const dispute = this.#unlocked(disputeId);
    const most = this.context.assumptions.maximumFileBytes;
    if (file.content.length > most) throw new ApiError('bad_request', `file is too large: at most ${most} bytes.`);
    const contentType = documentTypeOf(file);
    const document: DocumentRecord = {
      id: this.context.id('docu'),
      createdAt: this.context.now(),
      disputeId,
      filename: file.filename,
      kind: kind ?? DEFAULT_KIND,
      contentType,
      content: file.content,
      token: this.context.token(),
      deleted: false,
    };
    this.context.records.downloads.set(document.token, document);
    this.#replaceDocuments(dispute, [...dispute.documents, document]);
    return document;
  }

  /** @throws {ApiError} `documents_locked` when the dispute is not open. */
  remove(disputeId: string, id: string): DocumentRecord {
    const removed: DocumentRecord = { ...this.document(disputeId, id), deleted: true };
    const dispute = this.#unlocked(disputeId);
    this.context.records.downloads.delete(removed.token);
    this.#replaceDocuments(
      dispute,
      dispute.documents.filter((document) => document.id !== id),
    );
    return removed;
  }

  /** Source: assumption, "documents change only while open". */
  #unlocked(id: string): DisputeRecord {
    const dispute = this.dispute(id);
    if (dispute.status === 'open') return dispute;
    throw new ApiError('documents_locked', `The dispute is ${dispute.status}: its documents no longer change.`);
  }

  #replaceDocuments(dispute: DisputeRecord, documents: readonly DocumentRecord[]): void {
    const record = this.context.records.disputes.put({ ...dispute, documents });
    this.context.emit('dispute.update', { object: 'dispute', record });
  }
}

function isClosed(status: DisputeStatus): boolean {
  return status === 'won' || status === 'lost';
}
