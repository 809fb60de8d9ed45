import { ApiError } from './api-error.js';
import { MAXIMUM_FIELDS } from './form.js';

/** A file as it was sent. */
export type UploadedFile = { readonly filename: string; readonly content: Uint8Array };

export type MultipartLimits = {
  /** Bytes of all files together. */
  readonly maximumFileBytes: number;
  /** Bytes of all text fields together. */
  readonly maximumTextBytes: number;
};

type Part = {
  readonly name: string;
  /** Null for a text field. */
  readonly filename: string | null;
  readonly chunks: Buffer[];
};

export type MultipartForm = {
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly files: ReadonlyMap<string, UploadedFile>;
};

const HEADER_END = Buffer.from('\r\n\r\n');
const MAXIMUM_HEADER_BYTES = 8_192;
const MAXIMUM_NAME_LENGTH = 255;

/**
 * Reads `multipart/form-data` as it arrives (RFC 7578). What is kept never exceeds the limits: after the first mistake
 * the rest is dropped as it comes, and {@link end} tells of it.
 */
export class MultipartReader {
  readonly #delimiter: Buffer;
  readonly #fields: (readonly [string, string])[] = [];
  readonly #files = new Map<string, UploadedFile>();
  /** The first boundary has no line before it. */
  #rest: Buffer = Buffer.from('\r\n');
  #state: 'preamble' | 'boundary' | 'headers' | 'body' | 'epilogue' = 'preamble';
  #part: Part | null = null;
  #textBytes = 0;
  #fileBytes = 0;
  #parts = 0;
  #mistake: ApiError | null = null;

  constructor(
    boundary: string,
    private readonly limits: MultipartLimits,
  ) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`);
  }

  push(chunk: Buffer): void {
    if (this.#mistake !== null || this.#state === 'epilogue') return;
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    try {
      while (this.#step());
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#mistake = error;
      this.#rest = Buffer.alloc(0);
      this.#part = null;
      this.#files.clear();
    }
  }

  /** @throws {ApiError} when what came is malformed, cut off or too large. */
  end(): MultipartForm {
    if (this.#mistake !== null) throw this.#mistake;
    if (this.#state !== 'epilogue') throw malformed('it is cut off');
    return { fields: this.#fields, files: this.#files };
  }

  /** Whether there may be more to do with what has come. */
  #step(): boolean {
    switch (this.#state) {
      case 'preamble':
        return this.#readTo(this.#delimiter, 'boundary', () => {});
      case 'boundary':
        return this.#readBoundary();
      case 'headers':
        return this.#readHeaders();
      case 'body':
        return this.#readTo(
          this.#delimiter,
          'boundary',
          (bytes) => this.#keep(bytes),
          () => this.#closePart(),
        );
      case 'epilogue':
        this.#rest = Buffer.alloc(0);
        return false;
    }
  }

  /** Hands over what stands before the mark; keeps back what may be its beginning. */
  #readTo(mark: Buffer, next: 'boundary', take: (bytes: Buffer) => void, close: () => void = () => {}): boolean {
    const at = this.#rest.indexOf(mark);
    const end = at === -1 ? Math.max(0, this.#rest.length - mark.length + 1) : at;
    take(this.#rest.subarray(0, end));
    this.#rest = this.#rest.subarray(at === -1 ? end : at + mark.length);
    if (at === -1) return false;
    close();
    this.#state = next;
    return true;
  }

  /** After a boundary: two dashes end it all; else white space and the end of the line. */
  #readBoundary(): boolean {
    const lineEnd = this.#rest.indexOf('\r\n');
    if (this.#rest.length >= 2 && this.#rest.toString('latin1', 0, 2) === '--') {
      this.#state = 'epilogue';
      return true;
    }
    if (lineEnd === -1) {
      if (this.#rest.length > MAXIMUM_HEADER_BYTES) throw malformed('a boundary is too long');
      return false;
    }
    if (this.#rest.toString('latin1', 0, lineEnd).trim() !== '') throw malformed('a boundary does not end its line');
    // The end of the line stays: with no headers at all it begins the empty line that ends them.
    this.#rest = this.#rest.subarray(lineEnd);
    this.#state = 'headers';
    return true;
  }

  #readHeaders(): boolean {
    const end = this.#rest.indexOf(HEADER_END);
    if (end > MAXIMUM_HEADER_BYTES || (end === -1 && this.#rest.length > MAXIMUM_HEADER_BYTES)) {
      throw malformed('the headers of a part are too long');
    }
    if (end === -1) return false;
    this.#parts += 1;
    if (this.#parts > MAXIMUM_FIELDS) throw malformed('it has too many parts');
    this.#part = { ...dispositionOf(this.#rest.toString('utf8', 0, end)), chunks: [] };
    this.#rest = this.#rest.subarray(end + HEADER_END.length);
    this.#state = 'body';
    return true;
  }

  #keep(bytes: Buffer): void {
    const part = this.#part;
    if (part === null || bytes.length === 0) return;
    if (part.filename === null) this.#textBytes += bytes.length;
    else this.#fileBytes += bytes.length;
    const { maximumFileBytes, maximumTextBytes } = this.limits;
    if (this.#textBytes > maximumTextBytes) throw tooLarge('The form', maximumTextBytes);
    if (this.#fileBytes > maximumFileBytes) throw tooLarge(part.name, maximumFileBytes);
    // A copy: the chunk it is a view of may be far larger.
    part.chunks.push(Buffer.from(bytes));
  }

  #closePart(): void {
    const part = this.#part;
    if (part === null) return;
    const content = Buffer.concat(part.chunks);
    if (part.filename === null) this.#fields.push([part.name, content.toString('utf8')]);
    else if (this.#files.has(part.name)) throw malformed(`${part.name} is given twice`);
    else this.#files.set(part.name, { filename: part.filename, content });
    this.#part = null;
  }
}

/** The boundary of a `multipart/form-data` content type; null for another type. @throws {ApiError} when it has none. */
export function boundaryOf(contentType: string | undefined): string | null {
  if (contentType === undefined || !/^multipart\/form-data\s*(;|$)/i.test(contentType)) return null;
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) throw malformed('its content type names no boundary');
  return boundary;
}

function dispositionOf(headers: string): Pick<Part, 'name' | 'filename'> {
  const line = headers.split('\r\n').find((header) => /^content-disposition\s*:/i.test(header)) ?? '';
  const name = parameterOf(line, 'name');
  if (!/:\s*form-data\s*;/i.test(line) || name === null) throw malformed('a part has no name');
  const filename = extendedFilename(line) ?? parameterOf(line, 'filename');
  return { name, filename: filename === null ? null : baseName(filename) };
}

/** Browsers write `%22` for a quote, others a backslash before it. */
function parameterOf(line: string, name: string): string | null {
  const [, quoted, plain] =
    new RegExp(String.raw`;\s*${name}=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))`, 'i').exec(line) ?? [];
  if (quoted !== undefined) return quoted.replaceAll(/\\(["\\])/g, '$1').replaceAll(/%22/g, '"');
  return plain ?? null;
}

/** RFC 5987. Malformed encoding counts as none. */
function extendedFilename(line: string): string | null {
  const [, encoded] = /;\s*filename\*=utf-8'[^']*'([^\s;]+)/i.exec(line) ?? [];
  try {
    return encoded === undefined ? null : decodeURIComponent(encoded);
  } catch {
    return null;
  }
}

/** Without the folders of the sender's machine, and without what no file is named. */
function baseName(filename: string): string {
  const last = filename.split(/[/\\]/).at(-1) ?? '';
  const printable = last.replaceAll(/\p{Cc}/gu, '').slice(-MAXIMUM_NAME_LENGTH);
  return printable === '' ? 'file' : printable;
}

function malformed(how: string): ApiError {
  return new ApiError('bad_request', `The multipart body is malformed: ${how}.`);
}

function tooLarge(what: string, bytes: number): ApiError {
  return new ApiError('bad_request', `${what} is too large: at most ${bytes} bytes.`);
}
