import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import { MAX_DOCUMENT_BYTES } from '@tillflow/payments-client';
import { Problem } from '../problems/problem.js';
import { SpooledFile, SpoolError } from './spooled-file.js';

/** The parts of one request. */
export type Upload = { readonly files: readonly SpooledFile[]; readonly kind: string | undefined };

export const MAX_FILES = 10;
export const MAX_KIND_LENGTH = 64;
const MAX_FILENAME_LENGTH = 255;

/** For boundaries, headers and text fields. */
const FRAME_BYTES = 65_536;
const MAX_BODY_BYTES = MAX_FILES * MAX_DOCUMENT_BYTES + FRAME_BYTES;
const HEADER_BYTES = 8_192;

/** A slow upload must not keep its place for ever. */
const RECEIVE_WITHIN_MS = 120_000;
/** How long the API still reads and drops a refused upload: a sender that is disconnected would not read the answer. */
const DRAIN_MS = 10_000;
/** The longest time of an upload. */
export const UPLOAD_WITHIN_MS = RECEIVE_WITHIN_MS + DRAIN_MS;

/**
 * Writes the files of a multipart body to disk, with at most one chunk of each in memory. The caller closes them.
 * @throws {Problem} `unsupported_media_type`, `invalid_request`, `file_too_large`, `upload_incomplete`.
 * @throws {SpoolError} when the disk refuses them. Then no file is left.
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

/** Not a pipeline, which would destroy the connection with the parser, so that the sender could not read the answer. */
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
    // `finished` reports a failure. After its time is over, it listens no more, and a disk may still fail.
    parser.on('error', () => undefined);
    parser.on('file', (name, stream, filename) => {
      // The parser reports the failure as well.
      stream.on('error', () => undefined);
      this.#streams.push(stream);
      if (name === 'file') this.#take(stream, filename, fail);
      else fail(wrong(name, 'is unknown: send files as `file`'));
    });
    parser.on('field', (name, value, isNameCut, isValueCut) => {
      if (name !== 'kind' || isNameCut) fail(wrong(name, 'is unknown: the only text field is `kind`'));
      else if (isValueCut || !isText(value, MAX_KIND_LENGTH)) {
        fail(wrong('kind', `must be text of at most ${MAX_KIND_LENGTH} characters`));
      } else this.#kind = value === '' ? undefined : value;
    });
    parser.on('filesLimit', () => fail(wrong('file', `at most ${MAX_FILES} files can be sent in one request`)));
    parser.on('fieldsLimit', () => fail(wrong('kind', 'must not be sent more than once')));
    return parser;
  }

  /** @throws {Problem} `invalid_request` when there is no file. */
  async upload(): Promise<Upload> {
    const files = await Promise.all(this.#files);
    if (files.length === 0) throw wrong('file', 'must have at least one file');
    return { files, kind: this.#kind };
  }

  /** Closes all files. */
  async abandon(reason: unknown): Promise<void> {
    const error = reason instanceof Error ? reason : new Error('The upload was given up');
    for (const stream of this.#streams) stream.destroy(error);
    for (const file of await Promise.allSettled(this.#files)) {
      if (file.status === 'fulfilled') await file.value.close();
    }
  }

  #take(stream: BusboyFileStream, encoded: string | undefined, fail: (reason: Problem | SpoolError) => void): void {
    const place = this.#files.length;
    // Browsers write a quote like this. Source: RFC 7578 as the HTML standard has it.
    const filename = encoded?.replaceAll('%22', '"');
    if (filename === undefined || filename === '' || !isText(filename, MAX_FILENAME_LENGTH)) {
      fail(wrong(`file[${place}]`, `needs a filename of 1 to ${MAX_FILENAME_LENGTH} characters`));
      return;
    }
    stream.once('limit', () => fail(tooLarge(place)));
    const file = SpooledFile.of(stream, filename, this.directory);
    // `upload` reports any other failure. Without a reader for its file, the parser would wait for ever.
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

/** Refuses a request whose Content-Length is too large before reading it. */
function refuseTooLong({ headers }: IncomingMessage): void {
  if (Number(headers['content-length'] ?? 0) > MAX_BODY_BYTES) {
    throw new Problem('file_too_large', `A request can have at most ${MAX_BODY_BYTES} bytes`);
  }
}

/** Reads and drops the rest for a while, so that the sender reads the answer. */
function drain(request: IncomingMessage): void {
  if (request.destroyed || request.readableEnded) return;
  request.resume();
  const timer = setTimeout(() => request.destroy(), DRAIN_MS);
  timer.unref();
  request.once('close', () => clearTimeout(timer));
}

const UNREADABLE_TEXT = /[\p{Cs}\p{Cc}]/u;

/** @param max characters (code points), as the description counts them. */
function isText(value: string, max: number): boolean {
  return Array.from(value).length <= max && !UNREADABLE_TEXT.test(value);
}

function wrong(path: string, message: string): Problem {
  return new Problem('invalid_request', 'See errors', { errors: [{ path, message }] });
}

function tooLarge(place: number): Problem {
  const message = `can have at most ${MAX_DOCUMENT_BYTES} bytes`;
  return new Problem('file_too_large', `A document ${message}`, { errors: [{ path: `file[${place}]`, message }] });
}
