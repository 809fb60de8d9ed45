import type { Checkout, EventType } from './types.js';

/** Why an event was refused. */
export type WebhookRefusal =
  | 'no_secret'
  | 'secret_malformed'
  | 'body_not_raw'
  | 'body_malformed'
  | 'header_missing'
  | 'signature_mismatch'
  | 'timestamp_malformed'
  | 'timestamp_out_of_tolerance';

/** It is not proven that Tillflow sent this request just now. Do not act on it, and answer 400. */
export class WebhookVerificationError extends Error {
  static {
    this.prototype.name = 'WebhookVerificationError';
  }

  constructor(
    message: string,
    readonly reason: WebhookRefusal,
  ) {
    super(message);
  }
}

type Sent<Type, Data> = {
  /** `webhook-id`: the same for each repetition of a delivery. */
  readonly id: string;
  readonly type: Type;
  /** ISO 8601 UTC. */
  readonly timestamp: string;
  readonly data: Data;
};

/**
 * An event that Tillflow sent. `data` is the checkout as the API answers it: keep the state with the highest `version`.
 * A test has none. A newer API may have further types: ignore those that you do not know.
 */
export type WebhookEvent =
  | Sent<EventType | (`checkout.${string}` & {}), Checkout>
  | Sent<'endpoint.test', { readonly endpoint: string }>;

export type WebhookEventType = WebhookEvent['type'];

/** As Node, Fastify, Express or fetch provide them. The case of names does not matter. */
export type WebhookHeaders =
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | Iterable<readonly [string, string]>;

export type WebhookVerifyOptions = {
  /** Permitted difference between the time of sending and `now`, either way, in seconds. Default 300. */
  readonly toleranceSeconds?: number | undefined;
  /** Epoch milliseconds. Default: the clock of this computer. */
  readonly now?: number | undefined;
};

export type WebhookSignOptions = {
  /** `webhook-id`. */
  readonly id: string;
  /** Epoch milliseconds. Default: now. */
  readonly now?: number | undefined;
};

const DEFAULT_TOLERANCE_S = 300;
const ALGORITHM = { name: 'HMAC', hash: 'SHA-256' };
/** Tillflow sends one for each secret. Each further one would cost another pass over the body. */
const MOST_SIGNATURES = 10;
const SIGNATURE_BYTES = 32;

/**
 * Verifies an event that Tillflow sent, and reads it. Source: the Standard Webhooks specification.
 * @param rawBody the body as received: one that was parsed and written again does not verify
 * @param secrets of the endpoint, `whsec_…`; one of the first ten signatures must be by any of them
 * @throws {WebhookVerificationError} with the `reason`
 */
async function verify(
  rawBody: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  { toleranceSeconds = DEFAULT_TOLERANCE_S, now = Date.now() }: WebhookVerifyOptions = {},
): Promise<WebhookEvent> {
  const body = bytesOf(rawBody);
  const keys = await keysOf(secrets);
  const id = headerIn(headers, 'webhook-id');
  const timestamp = headerIn(headers, 'webhook-timestamp');
  const signatures = signaturesIn(headerIn(headers, 'webhook-signature'));
  const signed = signedBytes(id, timestamp, body);
  const checks = keys.flatMap((key) => signatures.map((one) => crypto.subtle.verify(ALGORITHM, key, one, signed)));
  if (!(await Promise.all(checks)).includes(true)) {
    throw new WebhookVerificationError(
      'No signature matches the request and any of the secrets.',
      'signature_mismatch',
    );
  }
  if (!/^\d{1,12}$/.test(timestamp)) {
    throw new WebhookVerificationError('webhook-timestamp is not a time in Unix seconds.', 'timestamp_malformed');
  }
  // Written so that NaN is refused.
  if (!(Math.abs(now - Number(timestamp) * 1_000) <= toleranceSeconds * 1_000)) {
    const message = 'The event was sent too long ago, or in the future. Check the clock of this computer.';
    throw new WebhookVerificationError(message, 'timestamp_out_of_tolerance');
  }
  return eventIn(body, id);
}

/** The headers that Tillflow would send with this body: for tests of a receiver. */
async function sign(
  rawBody: string | Uint8Array | ArrayBuffer,
  secrets: string | readonly string[],
  { id, now = Date.now() }: WebhookSignOptions,
): Promise<Record<string, string>> {
  const timestamp = String(Math.floor(now / 1_000));
  const signed = signedBytes(id, timestamp, bytesOf(rawBody));
  const keys = await keysOf(secrets);
  const made = await Promise.all(keys.map((key) => crypto.subtle.sign(ALGORITHM, key, signed)));
  const signatures = made.map((one) => `v1,${btoa(String.fromCharCode(...new Uint8Array(one)))}`);
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}

/** The events that Tillflow sends to your endpoints. */
export const webhooks = { verify, sign } as const;

function bytesOf(rawBody: unknown): Uint8Array<ArrayBuffer> {
  if (typeof rawBody === 'string') return new TextEncoder().encode(rawBody);
  if (rawBody instanceof ArrayBuffer || rawBody instanceof Uint8Array) return new Uint8Array(rawBody);
  throw new WebhookVerificationError('The body must be the bytes as received, not parsed.', 'body_not_raw');
}

function signedBytes(id: string, timestamp: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = new TextEncoder().encode(`${id}.${timestamp}.`);
  const signed = new Uint8Array(head.length + body.length);
  signed.set(head);
  signed.set(body, head.length);
  return signed;
}

function keysOf(secrets: string | readonly string[]): Promise<CryptoKey[]> {
  const given = typeof secrets === 'string' ? [secrets] : secrets;
  if (given.length === 0) throw new WebhookVerificationError('Give at least one secret.', 'no_secret');
  return Promise.all(
    given.map((secret) => {
      // A secret may come from a variable that is not set.
      const key = typeof secret === 'string' ? fromBase64(secret.replace(/^whsec_/, '')) : null;
      // Anyone could sign with an empty key.
      if (key === null || key.length === 0) {
        throw new WebhookVerificationError('A secret is whsec_ and base64.', 'secret_malformed');
      }
      return crypto.subtle.importKey('raw', key, ALGORITHM, false, ['sign', 'verify']);
    }),
  );
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

/** The signatures of version 1. Others are for other receivers. */
function signaturesIn(header: string): Uint8Array<ArrayBuffer>[] {
  return header.split(' ', MOST_SIGNATURES).flatMap((one) => {
    const [version, signature = ''] = one.split(',', 2);
    const bytes = version === 'v1' ? fromBase64(signature) : null;
    return bytes?.length === SIGNATURE_BYTES ? [bytes] : [];
  });
}

function headerIn(headers: WebhookHeaders, name: string): string {
  // Programs without types may give none.
  const given: WebhookHeaders = headers ?? {};
  const entries = Symbol.iterator in given ? [...given] : Object.entries(given);
  const [value, ...others] = entries.flatMap(([each, value]) => (each.toLowerCase() === name ? (value ?? []) : []));
  if (value !== undefined && value !== '' && others.length === 0) return value;
  throw new WebhookVerificationError(`The header ${name} is missing, or is there more than once.`, 'header_missing');
}

function eventIn(body: Uint8Array<ArrayBuffer>, id: string): WebhookEvent {
  try {
    const event = JSON.parse(new TextDecoder().decode(body)) as Partial<WebhookEvent> | null;
    if (typeof event?.type === 'string' && typeof event.data === 'object' && event.data !== null)
      return { ...(event as WebhookEvent), id };
  } catch {
    // Not JSON.
  }
  throw new WebhookVerificationError('The signature is valid, but the body is not an event.', 'body_malformed');
}
