import { randomUUID } from 'node:crypto';
import { EncodedBody } from './form.js';

export interface FilePart {
  readonly name: string;
  readonly filename: string;
  readonly mediaType: string;
  readonly content: Uint8Array;
}

/** Encodes text fields and one file as `multipart/form-data` (RFC 7578). A field that is null is empty, one that is undefined is left out. */
export function encodeMultipart(
  fields: Readonly<Record<string, string | null | undefined>>,
  file: FilePart,
): EncodedBody {
  // Random, so that no content can hold it by design.
  const boundary = `tillflow-${randomUUID()}`;
  const texts = Object.entries(fields).map(([name, text]) =>
    text === undefined
      ? ''
      : `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${text ?? ''}\r\n`,
  );
  const head =
    `--${boundary}\r\nContent-Disposition: form-data; name="${file.name}"; filename="${escapeQuoted(file.filename)}"\r\n` +
    `Content-Type: ${file.mediaType}\r\n\r\n`;
  const bytes = Buffer.concat([
    Buffer.from(texts.join('') + head),
    file.content,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ]);
  return new EncodedBody(`multipart/form-data; boundary=${boundary}`, bytes);
}

/** As browsers do: what could end the quotes or the line is percent-encoded, the rest is UTF-8. */
function escapeQuoted(text: string): string {
  return text.replaceAll(/["\p{Cc}]/gu, (character) => encodeURIComponent(character));
}
