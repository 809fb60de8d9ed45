/**
 * Wire details that the API reference leaves open ("not shown"), each in one place.
 * Nothing that keeps money safe depends on one of these alone.
 */

/** assumption: the version of one request is chosen with this header. Setting: `apiVersionHeader`. */
export const API_VERSION_HEADER = 'Api-Version';

/** assumption: every reply names its request here. Lower case, as parsed headers are. */
export const REQUEST_ID_HEADER = 'x-request-id';

/** assumption: secret keys begin so; the reference shows no key. */
export const SECRET_KEY_PREFIX = 'skey_';

/** assumption: public keys begin so. */
export const PUBLIC_KEY_PREFIX = 'pkey_';

/** assumption: follows a key's prefix in test mode, as the reference says of record ids. */
export const TEST_MODE_MARKER = 'test_';

/** assumption: a higher `limit` is lowered to this one. */
export const MAX_PAGE_SIZE = 100;

/** assumption: page size of a search that does not tell its own. */
export const SEARCH_PAGE_SIZE = 30;

/** assumption: the greatest dispute document. */
export const MAX_DOCUMENT_BYTES = 10 * 1024 * 1024;

interface DocumentType {
  readonly mediaType: string;
  readonly begins: Buffer;
  /** The usual one first. */
  readonly extensions: readonly [string, ...string[]];
}

/** assumption: what a dispute document may be, by its first bytes and by the ending of its name. */
export const DOCUMENT_TYPES: readonly DocumentType[] = [
  { mediaType: 'image/png', begins: Buffer.from('89504e470d0a1a0a', 'hex'), extensions: ['png'] },
  { mediaType: 'image/jpeg', begins: Buffer.from('ffd8ff', 'hex'), extensions: ['jpg', 'jpeg'] },
  { mediaType: 'application/pdf', begins: Buffer.from('%PDF-'), extensions: ['pdf'] },
];

/** assumption: header with the webhook's HMAC-SHA256 in hex, several comma-separated while a secret rotates. */
export const WEBHOOK_SIGNATURE_HEADER = 'Webhook-Signature';

/** assumption: header with the signing time in Unix seconds. */
export const WEBHOOK_TIMESTAMP_HEADER = 'Webhook-Signature-Timestamp';

/** assumption: how far the signing time may be from ours, in seconds, either way. */
export const WEBHOOK_TOLERANCE_SECONDS = 300;

/** assumption: what the provider signs is `<timestamp>.<raw body>`, keyed with the base64-decoded secret. */
export const WEBHOOK_SIGNED_PREFIX = (timestamp: string): string => `${timestamp}.`;

/** assumption: request fields whose name ends so hold a date without time; a `Date` there is sent as its UTC day. */
export const DATE_ONLY_FIELD = /_(?:date|on)$/;
