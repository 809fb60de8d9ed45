import { Injectable } from '@nestjs/common';
import { MAX_DOCUMENT_BYTES, type Document } from '@tillflow/payments-client';
import { Agent, request } from 'undici';
import type { SpooledFile } from './spooled-file.js';

/** The whole download, so that a slow one does not keep its place. Milliseconds. */
const FETCH_WITHIN_MS = 10_000;

/**
 * Whether a file is already stored. A record has no size and no checksum, so name and kind select the candidates, and
 * the bytes at the download address decide.
 */
@Injectable()
export class SameDocument {
  readonly #agent = new Agent({
    maxResponseSize: MAX_DOCUMENT_BYTES,
  });

  /**
   * @param before ids of the documents from before this file was sent with an unknown outcome; null when it was not
   *   sent. A new document with its name is the file, also when its bytes cannot be read.
   */
  async find(
    file: SpooledFile,
    kind: string | undefined,
    documents: readonly Document[],
    before: ReadonlySet<string> | null,
  ): Promise<Document | null> {
    for (const document of documents) {
      if (document.deleted === true || document.filename !== file.filename) continue;
      if (kind !== undefined && document.kind !== kind) continue;
      const isNew = before !== null && !before.has(document.id);
      if ((await this.#isSame(file, document)) ?? isNew) return document;
    }
    return null;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#agent.close();
  }

  /** Null when the stored bytes cannot be read. */
  async #isSame(file: SpooledFile, { download_uri: address }: Document): Promise<boolean | null> {
    if (typeof address !== 'string' || !/^https?:\/\//.test(address)) return null;
    try {
      const signal = AbortSignal.timeout(FETCH_WITHIN_MS);
      const { statusCode, body } = await request(address, { dispatcher: this.#agent, signal });
      if (statusCode === 200) return await isEqual(file.read(), body);
      await body.dump();
      return null;
    } catch {
      return null;
    }
  }
}

/** Compares two streams whose chunks have different sizes. */
async function isEqual(one: AsyncIterable<Uint8Array>, other: AsyncIterable<Uint8Array>): Promise<boolean> {
  const left = one[Symbol.asyncIterator]();
  const right = other[Symbol.asyncIterator]();
  let a: Uint8Array = new Uint8Array();
  let b: Uint8Array = new Uint8Array();
  try {
    for (;;) {
      if (a.length === 0) a = await nextOf(left);
      if (b.length === 0) b = await nextOf(right);
      if (a.length === 0 || b.length === 0) return a.length === b.length;
      const common = Math.min(a.length, b.length);
      if (Buffer.compare(a.subarray(0, common), b.subarray(0, common)) !== 0) return false;
      a = a.subarray(common);
      b = b.subarray(common);
    }
  } finally {
    await left.return?.();
    await right.return?.();
  }
}

/** Empty at the end. */
async function nextOf(chunks: AsyncIterator<Uint8Array>): Promise<Uint8Array> {
  for (;;) {
    const { done, value } = await chunks.next();
    if (done === true) return new Uint8Array();
    if (value.length > 0) return value;
  }
}
