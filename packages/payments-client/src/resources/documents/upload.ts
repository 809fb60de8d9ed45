import { Readable } from 'node:stream';
import { DOCUMENT_TYPES, MAX_DOCUMENT_BYTES } from '../../assumptions.js';
import { type InvalidRequestError, notSent, PaymentsError } from '../../errors.js';
import type { BodyReader, EncodedBody } from '../../request/request.js';

/** Source: API reference, "Dispute documents"; that it travels as multipart is an assumption. */
export interface DocumentCreateParams {
  /**
   * Bytes, a `Blob` or `File` (for a path: `openAsBlob` of `node:fs`), or a stream. The client reads it once, into
   * memory, before it sends anything, and no further than the size limit. A retry sends the same bytes.
   */
  file: Uint8Array | Blob | AsyncIterable<Uint8Array>;
  /** Without folders. Its extension, if any, must be one of the type. Default: a `File`'s own name, else `document`. */
  filename?: string | null | undefined;
  /** The kind of evidence. Free text. Null is the empty string. */
  kind?: string | null | undefined;
}

/** The multipart body of an upload. Reads and checks the file when the call is made. */
export function documentBody(params: DocumentCreateParams): BodyReader {
  return async (signal) => {
    // Taken before the first await: the caller may change its object afterwards.
    const { file, kind } = params;
    const name = fileName(params);
    const content = await readFile(file, signal);
    const filename = name || `document.${typeOf(content).extensions[0]}`;
    return await encodeMultipart(kind, content, filename, mediaTypeOfDocument(content, filename));
  };
}

/**
 * `multipart/form-data` (RFC 7578) as bytes, so that the length is known before sending and a retry sends the same
 * bytes.
 */
async function encodeMultipart(
  kind: string | null | undefined,
  content: Buffer<ArrayBuffer>,
  filename: string,
  type: string,
): Promise<EncodedBody> {
  const form = new FormData();
  if (kind !== undefined) form.set('kind', kind ?? '');
  // FormData itself escapes only quotes and line ends; some servers refuse other control characters in a header.
  const name = filename.replaceAll(/\p{Cc}/gu, (character) => encodeURIComponent(character));
  form.set('file', new File([content], name, { type }));
  const encoded = new Response(form);
  const contentType = encoded.headers.get('content-type') ?? '';
  return { contentType, bytes: new Uint8Array(await encoded.arrayBuffer()) };
}

/**
 * The media type of a document by its first bytes. The extension of its name, if any, must agree.
 * @param begins at least the first eight bytes
 * @throws {InvalidRequestError} `invalid_file_type`, `not_sent`.
 */
export function mediaTypeOfDocument(begins: Uint8Array, filename: string): string {
  const { mediaType, extensions } = typeOf(begins);
  const ending = /\.([^.]*)$/.exec(filename)?.[1]?.toLowerCase();
  if (ending === undefined || extensions.includes(ending)) return mediaType;
  throw notSent('invalid_file_type', `The file's content is ${mediaType}, but its name does not match`);
}

function typeOf(content: Uint8Array): (typeof DOCUMENT_TYPES)[number] {
  const type = DOCUMENT_TYPES.find(({ begins }) => begins.equals(content.subarray(0, begins.length)));
  if (type !== undefined) return type;
  throw notSent('invalid_file_type', 'The file is not a PNG, JPEG or PDF');
}

/**
 * The name without folders: a path would tell the provider about this machine, and some readers take \ for an escape.
 */
function fileName({ file, filename }: DocumentCreateParams): string {
  const given = filename ?? (file instanceof File ? file.name : '');
  return given.split(/[/\\]/).at(-1) ?? '';
}

async function readFile(file: unknown, signal: AbortSignal): Promise<Buffer<ArrayBuffer>> {
  if (file instanceof Uint8Array) {
    if (file.length > MAX_DOCUMENT_BYTES) throw tooLarge();
    // A copy: the caller may change its bytes while the request is under way.
    return Buffer.from(file);
  }
  if (file instanceof Blob) {
    if (file.size > MAX_DOCUMENT_BYTES) throw tooLarge();
    return await readStream(file.stream(), signal);
  }
  if (isAsyncIterable(file)) return await readStream(file, signal);
  throw notSent('invalid_parameter', 'The file must be bytes, a Blob or a stream of bytes');
}

/** Keeps at most the size limit and one chunk in memory. Stops when the signal aborts, even while the stream stalls. */
async function readStream(stream: AsyncIterable<unknown>, signal: AbortSignal): Promise<Buffer<ArrayBuffer>> {
  const iterator = stream[Symbol.asyncIterator]();
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value: chunk } = await Promise.race([iterator.next(), aborted]);
      if (done === true) return Buffer.concat(chunks, size);
      if (!(chunk instanceof Uint8Array)) throw notSent('invalid_parameter', 'The stream must yield bytes');
      size += chunk.length;
      if (size > MAX_DOCUMENT_BYTES) throw tooLarge();
      chunks.push(chunk);
    }
  } catch (error) {
    // Not awaited: a stalled iterator would answer only when it goes on.
    if (stream instanceof Readable) stream.destroy();
    else void iterator.return?.().catch(() => undefined);
    throw error instanceof PaymentsError ? error : notSent('unreadable_file', 'The file could not be read', error);
  }
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

function tooLarge(): InvalidRequestError {
  return notSent('file_too_large', `The file is larger than ${MAX_DOCUMENT_BYTES} bytes`);
}
