import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { mediaTypeOfDocument, PaymentsClient, PaymentsError, type Document } from '@tillflow/payments-client';
import type { Logger } from 'pino';
import type { Asker } from '../auth/caller.js';
import { LOGGER, Settings } from '../providers.js';
import { Problem } from '../problems/problem.js';
import { FAR_AHEAD, ProviderReads } from '../provider/provider-reads.js';
import { problemOfRead } from '../provider/provider-problems.js';
import type { EvidenceReply, EvidenceResult } from './disputes.schema.js';
import { InTurn } from '../shared/in-flight.js';
import { SameDocument } from './same-document.js';
import type { SpooledFile } from './spooled-file.js';
import { receiveUpload, type Upload } from './upload.js';

export type StoredEvidence = { readonly evidence: EvidenceReply; readonly status: 200 | 201 | 207 };

/** Uploads at the same time. Each holds one file of up to 10 MB in memory. */
const AT_ONCE = 4;
/** For a file of 10 MB on a slow line. Milliseconds. */
const UPLOAD_LIMITS = { timeoutMs: 60_000, deadlineMs: 120_000 } as const;
const MAX_TRIES = 3;
const PAUSE_MS = 1_000;
/** Above the number of documents of any dispute. */
const MAX_DOCUMENTS = 1_000;

/** The result for one file: its document, or why it was not stored. */
type Tried =
  | { readonly result: EvidenceResult; readonly document: Document; readonly error: null }
  | { readonly result: EvidenceResult; readonly document: null; readonly error: PaymentsError };

/**
 * Evidence for a dispute: from the request to disk, and from there to the provider. It does not go through Temporal,
 * whose histories are not made for files. A repeated request stores nothing twice.
 */
@Injectable()
export class EvidenceService {
  #underWay = 0;
  /** One request per dispute at a time: two with the same file would both find that it is missing. */
  readonly #turns = new InTurn();

  constructor(
    private readonly provider: PaymentsClient,
    private readonly reads: ProviderReads,
    private readonly same: SameDocument,
    private readonly settings: Settings,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * Stores each file, and answers for each: 201, 200 when all were already stored, 207 when some could not be stored.
   * @throws {Problem} when no file was stored: the reason for the first one. `documents_locked`, `file_too_large`,
   * `unsupported_file_type`, `upload_incomplete`, `too_many_uploads`, …
   */
  async store(id: string, request: IncomingMessage, asker: Asker): Promise<StoredEvidence> {
    if (this.#underWay >= AT_ONCE) {
      throw new Problem('too_many_uploads', 'No more uploads are possible now', { retryAfterSeconds: 5 });
    }
    this.#underWay += 1;
    const { socket } = request;
    const gone = new AbortController();
    const leave = (): void => gone.abort();
    socket.once('close', leave);
    try {
      const upload = await receiveUpload(request, this.settings.values.SPOOL_DIR);
      try {
        mustBeDocuments(upload.files);
        const tried = await this.#turns.run(id, () => this.#storeAll(id, upload, gone.signal));
        this.#note(id, tried, asker);
        return toReply(tried);
      } finally {
        await Promise.all(upload.files.map((file) => file.close()));
      }
    } finally {
      socket.off('close', leave);
      this.#underWay -= 1;
    }
  }

  async #storeAll(id: string, { files, kind }: Upload, signal: AbortSignal): Promise<Tried[]> {
    const documents = await this.#documents(id);
    const tried: Tried[] = [];
    let locked: PaymentsError | null = null;
    for (const file of files) {
      // When the documents are locked, the provider refuses the other files as well.
      const one: Tried =
        locked === null ? await this.#storeOne(id, file, kind, documents, signal) : failed(file, locked);
      tried.push(one);
      // The same file twice in one request is stored once.
      if (one.error === null) documents.push(one.document);
      else if (one.error.code === LOCKED) locked = one.error;
    }
    return tried;
  }

  /**
   * Logs who added which documents, because no workflow has it. It logs no file names, which may contain names of
   * people.
   */
  #note(target: string, tried: readonly Tried[], { by, requestId }: Asker): void {
    const audit = { kind: 'add_documents', target, by, asked_at: new Date().toISOString(), request_id: requestId };
    const documents = tried.map(({ result }) => ({ id: result.document?.id ?? null, status: result.status }));
    this.logger.info({ audit, documents }, 'evidence uploaded');
  }

  /** After an unknown outcome, lists the documents before it sends the file again. */
  async #storeOne(
    id: string,
    file: SpooledFile,
    kind: string | undefined,
    known: readonly Document[],
    signal: AbortSignal,
  ): Promise<Tried> {
    const before = new Set(known.map(({ id: one }) => one));
    let documents = known;
    for (let tries = 0; ; tries += 1) {
      const there = await this.same.find(file, kind, documents, tries === 0 ? null : before);
      if (there !== null) return stored(file, there, tries === 0 ? 'already_stored' : 'stored');
      try {
        const params = { file: file.read(), filename: file.filename, kind };
        return stored(
          file,
          await this.provider.disputes.createDocument(id, params, { ...UPLOAD_LIMITS, signal }),
          'stored',
        );
      } catch (error) {
        if (!(error instanceof PaymentsError)) throw error;
        if (error.outcome !== 'unknown' || signal.aborted || tries + 1 >= MAX_TRIES) return failed(file, error);
        await sleep(PAUSE_MS);
        const listed = await this.#documents(id).catch(() => null);
        if (listed === null) return failed(file, error);
        documents = listed;
      }
    }
  }

  #documents(id: string): Promise<Document[]> {
    const { disputes } = this.provider;
    return this.reads.read((options) =>
      disputes.iterateDocuments(id, { to: FAR_AHEAD }, options).toArray({ limit: MAX_DOCUMENTS }),
    );
  }
}

/** The provider's code for a dispute that accepts no documents any more. */
const LOCKED = 'documents_locked';

/** Checks all files before the first is sent. @throws {Problem} `unsupported_file_type`, with each wrong file. */
function mustBeDocuments(files: readonly SpooledFile[]): void {
  const errors = files.flatMap(({ beginning, filename }, place) => {
    try {
      mediaTypeOfDocument(beginning, filename);
      return [];
    } catch (error) {
      if (!(error instanceof PaymentsError)) throw error;
      return [{ path: `file[${place}]`, message: 'is not a PNG, JPEG or PDF, or its name does not match its content' }];
    }
  });
  if (errors.length > 0) throw new Problem('unsupported_file_type', 'See errors', { errors });
}

function stored(file: SpooledFile, document: Document, status: 'stored' | 'already_stored'): Tried {
  const { filename } = file;
  return { result: { filename, status, document: { ...document }, code: null, detail: null }, document, error: null };
}

function failed({ filename }: SpooledFile, error: PaymentsError): Tried {
  const status = error.outcome === 'unknown' ? 'unknown' : 'refused';
  return {
    result: { filename, status, document: null, code: error.code, detail: error.message },
    document: null,
    error,
  };
}

function toReply(tried: readonly Tried[]): StoredEvidence {
  const results = tried.map(({ result }) => result);
  const errors = tried.flatMap(({ error }) => (error === null ? [] : [error]));
  const [first] = errors;
  if (first !== undefined && errors.length === tried.length) throw problemOfFailure(first);
  const evidence = { data: results };
  if (errors.length > 0) return { evidence, status: 207 };
  return { evidence, status: results.some(({ status }) => status === 'stored') ? 201 : 200 };
}

function problemOfFailure(error: PaymentsError): unknown {
  if (error.outcome !== 'unknown') return problemOfRead(error);
  return new Problem('outcome_unknown', 'The provider did not confirm that it stored the document', { cause: error });
}
