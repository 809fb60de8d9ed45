import type { IncomingMessage } from 'node:http';
import { ApiError } from './api-error.js';
import { decodeForm, decodeUtf8, type FormMap } from './form.js';
import { isMultipart, parseMultipart, type UploadedFile } from './multipart.js';

/** The body of a request. Its size is bounded: see {@link readBody}. */
export type Body = {
  /** @throws {ApiError} when the body is too large or not UTF-8. */
  readonly text: () => string;
  /** @throws {ApiError} when the body is not a form, is malformed or is too large. */
  readonly form: () => DecodedForm;
};

export type DecodedForm = { readonly form: FormMap; readonly file: UploadedFile | null };

export type BodyLimits = {
  /** Bytes of a form, or of all text fields of a multipart form. */
  readonly maximumBodyBytes: number;
  /** Bytes of a file; null when the route takes no file. */
  readonly maximumFileBytes: number | null;
};

const FORM = 'application/x-www-form-urlencoded';

/** Base64 takes 4 bytes for 3, and percent-encoding three for some of them. */
const BYTES_OF_ENCODED_BYTE = 1.5;

/**
 * Reads a body to its end, and drops it when it is too large. Null when the caller closed the connection before the
 * end.
 */
export async function readBody(request: IncomingMessage, limits: BodyLimits): Promise<Body | null> {
  const { maximumBodyBytes, maximumFileBytes } = limits;
  const most = maximumBodyBytes + Math.ceil((maximumFileBytes ?? 0) * BYTES_OF_ENCODED_BYTE);
  const chunks: Buffer[] = [];
  let size = 0;
  const complete = await new Promise<boolean>((resolve) => {
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= most) chunks.push(chunk);
      else chunks.length = 0;
    });
    request.once('end', () => resolve(true));
    request.once('close', () => resolve(false));
    request.once('error', () => resolve(false));
  });
  if (!complete) return null;
  if (size > most) {
    const tooLarge = (): never => {
      throw new ApiError('bad_request', 'The body is too large.');
    };
    return { text: tooLarge, form: tooLarge };
  }
  const bytes = Buffer.concat(chunks);
  const text = (): string => decodeUtf8(bytes);
  const type = request.headers['content-type'] ?? '';
  if (maximumFileBytes !== null && isMultipart(type)) {
    const parsing = parseMultipart(type, bytes, { maximumFileBytes, maximumTextBytes: maximumBodyBytes });
    const [parsed] = await Promise.allSettled([parsing]);
    const form = (): DecodedForm => {
      if (parsed.status === 'rejected') throw parsed.reason;
      return parsed.value;
    };
    return { text, form };
  }
  const form = (): DecodedForm => {
    if (size > 0 && type.split(';')[0]?.trim().toLowerCase() !== FORM) {
      throw new ApiError('bad_request', `The body must be ${FORM}.`);
    }
    return { form: decodeForm(text()), file: null };
  };
  return { text, form };
}
