import { finished } from 'node:stream/promises';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import { ApiError } from './api-error.js';
import { formOf, MAXIMUM_FIELDS, type FormMap } from './form.js';

/** A file with the name that the sender gave it, without folders. */
export type UploadedFile = { readonly filename: string; readonly content: Uint8Array };

export type MultipartLimits = {
  readonly maximumFileBytes: number;
  /** Bytes of all text fields together. */
  readonly maximumTextBytes: number;
};

const FILE = 'file';
const MAXIMUM_HEADER_BYTES = 8_192;
const MAXIMUM_NAME_LENGTH = 255;
/** The parser stalls when one write holds more than a stream's buffer of a part that it skips. */
const PIECE_BYTES = 16_384;
const PARSE_WITHIN_MS = 10_000;

export function isMultipart(contentType: string): boolean {
  return /^multipart\/form-data\s*(;|$)/i.test(contentType);
}

/** The form in a `multipart/form-data` body (RFC 7578), and the file in it. @throws {ApiError} `bad_request`. */
export async function parseMultipart(
  contentType: string,
  body: Buffer,
  limits: MultipartLimits,
): Promise<{ readonly form: FormMap; readonly file: UploadedFile | null }> {
  const parser = parserOf(contentType, limits);
  const form = new Receiving(parser, limits);
  const done = finished(parser, { readable: false, signal: AbortSignal.timeout(PARSE_WITHIN_MS) });
  for (let at = 0; at < body.length; at += PIECE_BYTES) parser.write(body.subarray(at, at + PIECE_BYTES));
  parser.end();
  try {
    await done;
  } catch {
    throw malformed('it is cut off');
  }
  return form.result();
}

function parserOf(contentType: string, { maximumFileBytes, maximumTextBytes }: MultipartLimits): BusboyInstance {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      isPartAFile: (_name, _type, filename) => filename !== undefined,
      limits: {
        fieldSize: maximumTextBytes,
        fileSize: maximumFileBytes,
        headerSize: MAXIMUM_HEADER_BYTES,
        parts: MAXIMUM_FIELDS,
      },
    });
  } catch {
    throw malformed('its content type has no boundary');
  }
}

class Receiving {
  readonly #fields: (readonly [string, string])[] = [];
  readonly #files: UploadedFile[] = [];
  readonly #mistakes: ApiError[] = [];
  #textBytes = 0;

  constructor(parser: BusboyInstance, { maximumFileBytes, maximumTextBytes }: MultipartLimits) {
    parser.on('field', (name: string | undefined, value, _isNameCut, isCut) => {
      this.#textBytes += Buffer.byteLength(value);
      if (name === undefined) this.#mistakes.push(malformed('a part has no name'));
      else this.#fields.push([name, value]);
      if (isCut || this.#textBytes > maximumTextBytes) this.#mistakes.push(tooLarge('The form', maximumTextBytes));
    });
    parser.on('file', (name: string | undefined, stream, filename) => {
      if (name === undefined) this.#mistakes.push(malformed('a part has no name'));
      else if (name !== FILE) {
        this.#mistakes.push(new ApiError('bad_request', `Send the file as ${FILE}, not as ${name}.`));
      }
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.once('limit', () => this.#mistakes.push(tooLarge(FILE, maximumFileBytes)));
      // The parser itself reports the same error.
      stream.on('error', () => undefined);
      stream.once('end', () => this.#files.push({ filename: nameOf(filename), content: Buffer.concat(chunks) }));
    });
    parser.once('partsLimit', () => this.#mistakes.push(malformed('it has too many parts')));
  }

  result(): { readonly form: FormMap; readonly file: UploadedFile | null } {
    const [mistake] = this.#mistakes;
    if (mistake !== undefined) throw mistake;
    if (this.#files.length > 1) throw malformed(`it has more than one ${FILE}`);
    return { form: formOf(this.#fields), file: this.#files[0] ?? null };
  }
}

/** Browsers send `%22` for a quote. */
function nameOf(filename: string): string {
  const printable = filename
    .replaceAll('%22', '"')
    .replaceAll(/\p{Cc}/gu, '')
    .slice(-MAXIMUM_NAME_LENGTH);
  return printable === '' ? FILE : printable;
}

function malformed(reason: string): ApiError {
  return new ApiError('bad_request', `The multipart body is malformed: ${reason}.`);
}

function tooLarge(what: string, bytes: number): ApiError {
  return new ApiError('bad_request', `${what} is too large: at most ${bytes} bytes.`);
}
