import { createHmac, timingSafeEqual } from 'node:crypto';
import {
  WEBHOOK_SIGNATURE_HEADER,
  WEBHOOK_SIGNED_PREFIX,
  WEBHOOK_TIMESTAMP_HEADER,
  WEBHOOK_TOLERANCE_SECONDS,
} from './assumptions.js';
import { readRecord } from './reply/records.js';
import { type Event, event } from './resources/events/schema.js';

/** Why a webhook was refused. */
export type WebhookRefusal =
  | 'no_secret'
  | 'body_not_raw'
  | 'signature_missing'
  | 'signature_malformed'
  | 'signature_mismatch'
  | 'timestamp_missing'
  | 'timestamp_malformed'
  | 'timestamp_out_of_tolerance'
  | 'body_malformed';

/**
 * It is not proven that the provider sent this request just now. Do not act on it.
 * What to do: docs/errors/WebhookVerificationError.md
 */
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

/** As Node, Fastify or fetch provide them. The case of names does not matter. */
export type WebhookHeaders =
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | Iterable<readonly [string, string]>;

export interface WebhookConstructOptions {
  /** Base64, as the provider shows them. A signature by any of them is valid: give several while you rotate one. */
  secrets: readonly string[];
  /** Permitted difference between the signing time and `now`, either way, in seconds. Default 300 (assumption). */
  toleranceSeconds?: number | undefined;
  /** Epoch milliseconds. Default: the wall clock. */
  now?: number | undefined;
  /** Default `Webhook-Signature` (assumption). */
  signatureHeader?: string | undefined;
  /** Default `Webhook-Signature-Timestamp` (assumption). */
  timestampHeader?: string | undefined;
}

export interface WebhookSignOptions {
  /**
   * Base64. Several give one signature each, separated by commas, as the provider sends them while a secret is rotated.
   */
  secret: string | readonly string[];
  /** Unix seconds. */
  timestamp: number;
  /** Default `Webhook-Signature` (assumption). */
  signatureHeader?: string | undefined;
  /** Default `Webhook-Signature-Timestamp` (assumption). */
  timestampHeader?: string | undefined;
}

const SHA256_HEX = /^[0-9a-f]{64}$/i;
const UNIX_SECONDS = /^\d{1,12}$/;

/**
 * Verifies a webhook request and reads its event. The event is a hint and may be late, repeated or out of order: take
 * the id from it and retrieve the record.
 * @param rawBody the bytes as received; a parsed and re-encoded body does not verify
 * @throws {WebhookVerificationError} with the `reason`
 */
function construct(rawBody: string | Uint8Array, headers: WebhookHeaders, options: WebhookConstructOptions): Event {
  const keys = options.secrets.map((secret) => Buffer.from(secret, 'base64'));
  if (keys.length === 0 || keys.some((key) => key.length === 0)) {
    // Anyone could sign with an empty key.
    throw new WebhookVerificationError('Give at least one webhook secret, and none that is empty.', 'no_secret');
  }
  if (typeof rawBody !== 'string' && !(rawBody instanceof Uint8Array)) {
    throw new WebhookVerificationError('The body must be the bytes as received, not parsed.', 'body_not_raw');
  }

  const signatures = readSignatures(headers, options.signatureHeader ?? WEBHOOK_SIGNATURE_HEADER);
  const timestamp = readTimestamp(headers, options.timestampHeader ?? WEBHOOK_TIMESTAMP_HEADER);
  const expected = keys.map((key) => signature(rawBody, key, timestamp));
  if (!signatures.some((given) => expected.some((ours) => timingSafeEqual(given, ours)))) {
    throw new WebhookVerificationError(
      'No signature matches the body, the timestamp and any of the secrets.',
      'signature_mismatch',
    );
  }

  const ageMs = Math.abs((options.now ?? Date.now()) - Number(timestamp) * 1000);
  // Written so that NaN is refused.
  if (!(ageMs <= (options.toleranceSeconds ?? WEBHOOK_TOLERANCE_SECONDS) * 1000)) {
    throw new WebhookVerificationError(
      'The signing time is too far in the past or in the future.',
      'timestamp_out_of_tolerance',
    );
  }
  return readEvent(rawBody);
}

/** The headers that the provider would send with this body. For tests and for a sandbox. */
function sign(rawBody: string | Uint8Array, options: WebhookSignOptions): Record<string, string> {
  const timestamp = String(options.timestamp);
  const secrets = typeof options.secret === 'string' ? [options.secret] : options.secret;
  const signatures = secrets.map((secret) => signature(rawBody, Buffer.from(secret, 'base64'), timestamp));
  return {
    [options.signatureHeader ?? WEBHOOK_SIGNATURE_HEADER]: signatures.map((bytes) => bytes.toString('hex')).join(','),
    [options.timestampHeader ?? WEBHOOK_TIMESTAMP_HEADER]: timestamp,
  };
}

/** Webhook requests of the provider. Source: assumption "Webhook signature". */
export const webhooks = { construct, sign } as const;

function signature(rawBody: string | Uint8Array, key: Uint8Array, timestamp: string): Buffer {
  return createHmac('sha256', key).update(WEBHOOK_SIGNED_PREFIX(timestamp)).update(rawBody).digest();
}

/** While a secret is rotated the header contains one signature for each secret. */
function readSignatures(headers: WebhookHeaders, name: string): Buffer[] {
  const given = headerValues(headers, name)
    .flatMap((value) => value.split(','))
    .map((value) => value.trim());
  const present = given.filter(Boolean);
  if (present.length === 0) {
    throw new WebhookVerificationError(`The header ${name} is missing.`, 'signature_missing');
  }
  const wellFormed = present.filter((value) => SHA256_HEX.test(value));
  if (wellFormed.length === 0) {
    throw new WebhookVerificationError(
      `The header ${name} contains no signature of 64 hexadecimal characters.`,
      'signature_malformed',
    );
  }
  return wellFormed.map((value) => Buffer.from(value, 'hex'));
}

function readTimestamp(headers: WebhookHeaders, name: string): string {
  const [timestamp, ...others] = new Set(headerValues(headers, name).map((value) => value.trim()));
  if (timestamp === undefined) {
    throw new WebhookVerificationError(`The header ${name} is missing.`, 'timestamp_missing');
  }
  if (others.length > 0 || !UNIX_SECONDS.test(timestamp)) {
    throw new WebhookVerificationError(`The header ${name} must be one time in Unix seconds.`, 'timestamp_malformed');
  }
  return timestamp;
}

function headerValues(headers: WebhookHeaders, name: string): string[] {
  const wanted = name.toLowerCase();
  const entries = Symbol.iterator in headers ? [...headers] : Object.entries(headers);
  return entries.filter(([given]) => given.toLowerCase() === wanted).flatMap(([, value]) => value ?? []);
}

function readEvent(rawBody: string | Uint8Array): Event {
  const text = typeof rawBody === 'string' ? rawBody : Buffer.from(rawBody).toString('utf8');
  try {
    const reading = readRecord(event, JSON.parse(text));
    if ('record' in reading) return reading.record;
  } catch {
    // Not JSON.
  }
  throw new WebhookVerificationError('The signature is valid, but the body is not an event.', 'body_malformed');
}
