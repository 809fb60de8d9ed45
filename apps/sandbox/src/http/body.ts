import type { IncomingMessage } from 'node:http';
import { ApiError } from './api-error.js';
import type { Assumptions } from '../assumptions.js';
import { decodeForm, decodeUtf8, formOf, type FormMap } from './form.js';
import { boundaryOf, MultipartReader, type UploadedFile } from './multipart.js';

/** What came with a request, taken as it arrives: never more of it is kept than the limits allow. */
export type Body = {
  /** The text. @throws {ApiError} when it is too large or not UTF-8. */
  readonly text: () => string;
  /** The form and the file in it. @throws {ApiError} when it is no form, malformed or too large. */
  readonly form: () => DecodedForm;
};

export type DecodedForm = { readonly form: FormMap; readonly file: UploadedFile | null };

const FORM = 'application/x-www-form-urlencoded';
const FILE = 'file';

/** Base64 takes 4 bytes for 3, and some of them are three when percent-encoded. */
const BYTES_OF_ENCODED_BYTE = 1.5;

/**
 * Null when the caller went away before the end. What is too large is read to its end and dropped.
 * @param limit bytes. @param files limits of a file that may come along, or null.
 */
export async function readBody(
  request: IncomingMessage,
  limit: number,
  files: Assumptions | null,
): Promise<Body | null> {
  const multipart = files === null ? null : multipartOf(request, files);
  const most = files === null ? limit : limit + Math.ceil(files.maximumFileBytes * BYTES_OF_ENCODED_BYTE);
  const chunks: Buffer[] = [];
  let size = 0;
  const complete = await new Promise<boolean>((resolve) => {
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (multipart instanceof MultipartReader) multipart.push(chunk);
      else if (size <= most) chunks.push(chunk);
      else chunks.length = 0;
    });
    request.once('end', () => resolve(true));
    request.once('close', () => resolve(false));
    request.once('error', () => resolve(false));
  });
  if (!complete) return null;
  const bytes = Buffer.concat(chunks);
  const text = (): string => {
    if (size > most) throw new ApiError('bad_request', 'The body is too large.');
    return decodeUtf8(bytes);
  };
  const form = (): DecodedForm => {
    if (multipart instanceof ApiError) throw multipart;
    if (multipart !== null) return decodeMultipart(multipart);
    if (size > 0 && size <= most) checkFormType(request);
    return { form: decodeForm(text()), file: null };
  };
  return { text, form };
}

function multipartOf(request: IncomingMessage, limits: Assumptions): MultipartReader | ApiError | null {
  try {
    const boundary = boundaryOf(request.headers['content-type']);
    const { maximumFileBytes, maximumBodyBytes: maximumTextBytes } = limits;
    return boundary === null ? null : new MultipartReader(boundary, { maximumFileBytes, maximumTextBytes });
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

function decodeMultipart(reader: MultipartReader): DecodedForm {
  const { fields, files } = reader.end();
  const other = [...files.keys()].find((name) => name !== FILE);
  if (other !== undefined) throw new ApiError('bad_request', `A file is taken as ${FILE}, not as ${other}.`);
  return { form: formOf(fields), file: files.get(FILE) ?? null };
}

function checkFormType(request: IncomingMessage): void {
  const [type = ''] = (request.headers['content-type'] ?? '').split(';');
  if (type.trim().toLowerCase() !== FORM) throw new ApiError('bad_request', `The body must be ${FORM}.`);
}
