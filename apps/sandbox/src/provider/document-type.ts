import { ApiError } from '../http/api-error.js';
import type { UploadedFile } from '../http/multipart.js';

type DocumentType = { readonly contentType: string; readonly begins: Buffer; readonly extensions: readonly string[] };

/** The accepted types of a document. Source: assumption, "File upload". */
const TYPES: readonly DocumentType[] = [
  { contentType: 'image/png', begins: Buffer.from('89504e470d0a1a0a', 'hex'), extensions: ['png'] },
  { contentType: 'image/jpeg', begins: Buffer.from('ffd8ff', 'hex'), extensions: ['jpg', 'jpeg'] },
  { contentType: 'application/pdf', begins: Buffer.from('%PDF-'), extensions: ['pdf'] },
];

function byContent(content: Uint8Array): DocumentType | undefined {
  return TYPES.find(({ begins }) => begins.equals(content.subarray(0, begins.length)));
}

/**
 * The media type by the first bytes of the file. The extension of its name, if any, must match.
 * @throws {ApiError} `invalid_file_type`.
 */
export function documentTypeOf({ filename, content }: UploadedFile): string {
  const type = byContent(content);
  const [, extension] = /\.([^.]*)$/.exec(filename) ?? [];
  if (type !== undefined && (extension === undefined || type.extensions.includes(extension.toLowerCase()))) {
    return type.contentType;
  }
  throw new ApiError('invalid_file_type', 'file must be a PNG, JPEG or PDF, and its name must match its content.');
}

/**
 * The file in the text of a form's `file` field: base64, a `data:` URL, or the bytes of the text itself. Its name comes
 * from its type. Source: API reference, "Dispute documents"; the encoding is an assumption.
 */
export function fileFromText(text: string): UploadedFile {
  const [, encoded] = /^data:[^,]*;base64,(.*)$/s.exec(text) ?? [];
  const decoded = Buffer.from(encoded ?? text, 'base64');
  const content = encoded !== undefined || byContent(decoded) !== undefined ? decoded : Buffer.from(text);
  return { filename: `document.${byContent(content)?.extensions[0] ?? 'bin'}`, content };
}
