/**
 * Wire details that the API reference leaves open ("not shown"), each in one place.
 * The safety of money never depends on one of these alone.
 */

/** assumption: this header sets the version of one request. Setting: `apiVersionHeader`. */
export const API_VERSION_HEADER = 'Api-Version';

/** assumption: every reply has the id of its request in this header. Lower case, as parsed headers are. */
export const REQUEST_ID_HEADER = 'x-request-id';

/** assumption: secret keys begin with this; the reference shows no key. */
export const SECRET_KEY_PREFIX = 'skey_';

/** assumption: public keys begin with this. */
export const PUBLIC_KEY_PREFIX = 'pkey_';

/** assumption: follows a key's prefix in test mode, as the reference says of record ids. */
export const TEST_MODE_MARKER = 'test_';

/** assumption: a higher `limit` is lowered to this one. */
export const MAX_PAGE_SIZE = 100;

/** assumption: page size of a search whose result does not contain one. */
export const SEARCH_PAGE_SIZE = 30;

/** assumption: the maximum size of a dispute document. */
export const MAX_DOCUMENT_BYTES = 10 * 1024 * 1024;

interface DocumentType {
  readonly mediaType: string;
  readonly begins: Buffer;
  /** The most usual one first. */
  readonly extensions: readonly [string, ...string[]];
}

/** assumption: the permitted types of a dispute document, by its first bytes and its file extension. */
export const DOCUMENT_TYPES: readonly DocumentType[] = [
  { mediaType: 'image/png', begins: Buffer.from('89504e470d0a1a0a', 'hex'), extensions: ['png'] },
  { mediaType: 'image/jpeg', begins: Buffer.from('ffd8ff', 'hex'), extensions: ['jpg', 'jpeg'] },
  { mediaType: 'application/pdf', begins: Buffer.from('%PDF-'), extensions: ['pdf'] },
];

/** assumption: header with the webhook's HMAC-SHA256 in hex, several comma-separated while a secret rotates. */
export const WEBHOOK_SIGNATURE_HEADER = 'Webhook-Signature';

/** assumption: header with the signing time in Unix seconds. */
export const WEBHOOK_TIMESTAMP_HEADER = 'Webhook-Signature-Timestamp';

/** assumption: how far the signing time may differ from this machine's clock, in seconds, either way. */
export const WEBHOOK_TOLERANCE_SECONDS = 300;

/** assumption: the provider signs `<timestamp>.<raw body>` with the base64-decoded secret as key. */
export const WEBHOOK_SIGNED_PREFIX = (timestamp: string): string => `${timestamp}.`;

/** assumption: request fields with such a name are a date without time. A `Date` there is sent as its UTC day. */
export const DATE_ONLY_FIELD = /_(?:date|on)$/;
