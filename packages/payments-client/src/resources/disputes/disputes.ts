import type { RequestOptions } from '../../options.js';
import { iterateList, type List, listOf, type ListParams } from '../../pagination/list.js';
import type { Listing } from '../../pagination/listing.js';
import { compareWithRequest } from '../../reply/integrity.js';
import { named, path } from '../../request/path.js';
import { type Document, document, type DocumentId } from '../documents/schema.js';
import { type DocumentCreateParams, documentBody } from '../documents/upload.js';
import { Resource } from '../resource.js';
import { type Dispute, dispute, type DisputeId } from './schema.js';

const documentList = listOf(document);
const compareMode = compareWithRequest<object, Document>();

/**
 * Contested payments and the evidence for them. Source: API reference, "Dispute documents"; retrieve is an assumption.
 */
export class Disputes extends Resource {
  retrieve(id: DisputeId, options?: RequestOptions): Promise<Dispute> {
    return this.http.get(path`/disputes/${id}`, undefined, dispute, options);
  }

  listDocuments(id: DisputeId, params?: ListParams, options?: RequestOptions): Promise<List<Document>> {
    return this.http.get(path`/disputes/${id}/documents`, params, documentList, options);
  }

  iterateDocuments(id: DisputeId, params: ListParams = {}, options?: RequestOptions): Listing<Document> {
    return iterateList(params, this.http, (page, each) => this.listDocuments(id, page, each), options);
  }

  retrieveDocument(id: DisputeId, documentId: DocumentId, options?: RequestOptions): Promise<Document> {
    const at = path`/disputes/${id}/documents/${named('document_id', documentId)}`;
    return this.http.get(at, undefined, document, options);
  }

  /**
   * Adds a file as evidence: a PNG, JPEG or PDF of at most 10 MB (assumption), checked before a byte is sent.
   * After an unknown outcome, search `listDocuments` before you send it again.
   * @throws {InvalidRequestError} `not_sent`: `invalid_file_type`, `file_too_large`, `unreadable_file`; rejected:
   * `documents_locked` when the dispute is not open
   * @throws {IntegrityError} when the reply has the other mode (live or test)
   */
  createDocument(id: DisputeId, params: DocumentCreateParams, options?: RequestOptions): Promise<Document> {
    return this.http.upload(path`/disputes/${id}/documents`, documentBody(params), document, options, compareMode);
  }

  /** Removes a document. @throws {InvalidRequestError} `documents_locked` when the dispute is not open. */
  destroyDocument(id: DisputeId, documentId: DocumentId, options?: RequestOptions): Promise<Document> {
    const at = path`/disputes/${id}/documents/${named('document_id', documentId)}`;
    return this.http.delete(at, document, options);
  }
}
