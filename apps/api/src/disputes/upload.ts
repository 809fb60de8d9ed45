import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import { MAX_DOCUMENT_BYTES } from '@tillflow/payments-client';
import { Problem } from '../problems/problem.js';
import { SpooledFile, SpoolError } from './spooled-file.js';

/** What came with one request. */
export type Upload = { readonly files: readonly SpooledFile[]; readonly kind: string | undefined };

export const MAX_FILES = 10;
export const MAX_KIND_LENGTH = 64;
const MAX_FILENAME_LENGTH = 255;

/** Room for boundaries, headers and the texts. */
const FRAME_BYTES = 65_536;
const MAX_BODY_BYTES = MAX_FILES * MAX_DOCUMENT_BYTES + FRAME_BYTES;
const HEADER_BYTES = 8_192;

/** An upload that drips would hold its place for ever. */
const RECEIVE_WITHIN_MS = 120_000;
/** What is refused is still read for so long, and dropped: a sender that is cut off never reads the answer. */
const DRAIN_MS = 10_000;
/** After this, an upload is over in any case. */
export const UPLOAD_WITHIN_MS = RECEIVE_WITHIN_MS + DRAIN_MS;

/**
 * Takes the files of a multipart body to disk, no more of one in memory than a chunk. The caller closes them.
 * @throws {Problem} `unsupported_media_type`, `invalid_request`, `file_too_large`, `upload_incomplete`.
 * @throws {SpoolError} when the disk does not take them. Nothing is left behind then.
 */
export async function receiveUpload(request: IncomingMessage, directory: string): Promise<Upload> {
  mustBeMultipart(request);
  const receiving = new Receiving(directory);
  try {
    refuseTooLong(request);
    const parser = receiving.parserOf(request);
    await allInto(request, parser);
    return await receiving.upload();
  } catch (error) {
    drain(request);
    await receiving.abandon(error);
    if (error instanceof Problem || error instanceof SpoolError) throw error;
    throw new Problem('upload_incomplete', 'The multipart body is malformed or ended too early', { cause: error });
  }
}

/** A pipeline would tear the connection down with the parser, and no one could read the answer. */
async function allInto(request: IncomingMessage, parser: BusboyInstance): Promise<void> {
  const cutOff = (): void => void parser.destroy(new Error('The sender went away'));
  request.once('error', cutOff).once('aborted', cutOff);
  try {
    const ended = finished(parser, { readable: false, signal: AbortSignal.timeout(RECEIVE_WITHIN_MS) });
    request.pipe(parser);
    await ended;
  } finally {
    request.unpipe(parser).off('error', cutOff).off('aborted', cutOff);
  }
}

class Receiving {
  readonly #files: Promise<SpooledFile>[] = [];
  readonly #streams: Readable[] = [];
  #kind: string | undefined;

  constructor(private readonly directory: string) {}

  /** @throws {Problem} `upload_incomplete` when the content type names no boundary. */
  parserOf({ headers }: IncomingMessage): BusboyInstance {
    const parser = new Busboy({
      headers: { ...headers, 'content-type': headers['content-type'] ?? '' },
      isPartAFile: (name, _, filename) => filename !== undefined || name === 'file',
      limits: {
        fieldNameSize: 64,
        fieldSize: MAX_KIND_LENGTH * 4,
        fields: 1,
        fileSize: MAX_DOCUMENT_BYTES,
        files: MAX_FILES,
        headerPairs: 16,
        headerSize: HEADER_BYTES,
      },
    });
    const fail = (reason: Problem | SpoolError): void => void parser.destroy(reason);
    parser.on('file', (name, stream, filename) => {
      // Settled below, with the others; a stream that is torn down is told of there.
      stream.on('error', () => undefined);
      this.#streams.push(stream);
      if (name === 'file') this.#take(stream, filename, fail);
      else fail(wrong(name, 'is unknown: files are sent as file'));
    });
    parser.on('field', (name, value, isNameCut, isValueCut) => {
      if (name !== 'kind' || isNameCut) fail(wrong(name, 'is unknown: the only text is kind'));
      else if (isValueCut || !isText(value, MAX_KIND_LENGTH)) {
        fail(wrong('kind', `must be text of at most ${MAX_KIND_LENGTH} characters`));
      } else this.#kind = value === '' ? undefined : value;
    });
    parser.on('filesLimit', () => fail(wrong('file', `may be given at most ${MAX_FILES} times`)));
    parser.on('fieldsLimit', () => fail(wrong('kind', 'must be given once')));
    return parser;
  }

  /** @throws {Problem} `invalid_request` when there is no file. */
  async upload(): Promise<Upload> {
    const files = await Promise.all(this.#files);
    if (files.length === 0) throw wrong('file', 'is needed, at least one');
    return { files, kind: this.#kind };
  }

  /** Lets go of everything that was taken so far. */
  async abandon(reason: unknown): Promise<void> {
    const error = reason instanceof Error ? reason : new Error('The upload was given up');
    for (const stream of this.#streams) stream.destroy(error);
    for (const file of await Promise.allSettled(this.#files)) {
      if (file.status === 'fulfilled') await file.value.close();
    }
  }

  #take(stream: BusboyFileStream, encoded: string | undefined, fail: (reason: Problem | SpoolError) => void): void {
    const place = this.#files.length;
    // Browsers write a quote so. Source: RFC 7578 as the HTML standard has it.
    const filename = encoded?.replaceAll('%22', '"');
    if (filename === undefined || filename === '' || !isText(filename, MAX_FILENAME_LENGTH)) {
      fail(wrong(`file[${place}]`, `needs a filename of 1 to ${MAX_FILENAME_LENGTH} characters`));
      return;
    }
    stream.once('limit', () => fail(tooLarge(place)));
    const file = SpooledFile.of(stream, filename, this.directory);
    // Any other failure is told when the files are gathered. A parser whose file nobody reads would wait for ever.
    file.catch((error: unknown) => {
      if (error instanceof SpoolError) fail(error);
    });
    this.#files.push(file);
  }
}

function mustBeMultipart({ headers }: IncomingMessage): void {
  if (/^multipart\/form-data\s*(;|$)/i.test(headers['content-type'] ?? '')) return;
  throw new Problem('unsupported_media_type', 'Send files as multipart/form-data');
}

/** What says of itself that it is too long is not read at all. */
function refuseTooLong({ headers }: IncomingMessage): void {
  if (Number(headers['content-length'] ?? 0) > MAX_BODY_BYTES) {
    throw new Problem('file_too_large', `A request may have at most ${MAX_BODY_BYTES} bytes`);
  }
}

/** Reads on what nobody wants, for a while, so that the sender comes to read the answer. */
function drain(request: IncomingMessage): void {
  if (request.destroyed || request.readableEnded) return;
  request.resume();
  const timer = setTimeout(() => request.destroy(), DRAIN_MS);
  timer.unref();
  request.once('close', () => clearTimeout(timer));
}

const UNREADABLE_TEXT = /[\p{Cs}\p{Cc}]/u;

function isText(value: string, max: number): boolean {
  return value.length <= max && !UNREADABLE_TEXT.test(value);
}

function wrong(path: string, message: string): Problem {
  return new Problem('invalid_request', 'See errors', { errors: [{ path, message }] });
}

function tooLarge(place: number): Problem {
  const message = `may have at most ${MAX_DOCUMENT_BYTES} bytes`;
  return new Problem('file_too_large', `A document ${message}`, { errors: [{ path: `file[${place}]`, message }] });
}
