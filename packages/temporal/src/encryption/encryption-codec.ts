import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { z } from 'zod';

/** A key that encrypts payloads. */
export type PayloadKey = {
  /** Stored in the clear beside every payload that this key encrypted. */
  readonly id: string;
  /** 32 bytes. */
  readonly key: Buffer;
};

const ENTRY = /^([a-z0-9-]{1,32}):([A-Za-z0-9+/]{43}=)$/;

/**
 * The setting `PAYLOAD_KEYS`: `id:base64key`, comma-separated, each key exactly 32 bytes. The first encrypts, all
 * decrypt.
 */
export const payloadKeys: z.ZodType<PayloadKey[]> = z.string().transform((text, context): PayloadKey[] => {
  const keys: PayloadKey[] = [];
  for (const [index, entry] of text.split(',').entries()) {
    const [, id, key] = ENTRY.exec(entry.trim()) ?? [];
    if (id === undefined || key === undefined) {
      context.addIssue(`entry ${index + 1} must be id:key, the id of a-z 0-9 - and the key 32 bytes in base64`);
      continue;
    }
    if (keys.some((other) => other.id === id)) context.addIssue(`the id ${id} is given twice`);
    keys.push({ id, key: Buffer.from(key, 'base64') });
  }
  return keys;
});

const ALGORITHM = 'aes-256-gcm';
const ENCODING = 'binary/encrypted';
/** Names in an encrypted payload's metadata. */
const ENCODING_NAME = 'encoding';
const KEY_ID_NAME = 'encryption-key-id';
/** 96 bits, drawn at random for each payload. Source: NIST SP 800-38D, 8.2.2. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const LENGTH_BYTES = 4;

/** The configured keys do not decrypt a payload. The message names the key and the remedy. */
export class UnreadablePayloadError extends Error {
  override readonly name = 'UnreadablePayloadError';
}

/**
 * Encrypts with the first key and decrypts with the key that a payload names. Without keys it encrypts nothing. It
 * reads unencrypted payloads as they are, so that encryption can be turned on while workflows run.
 */
export class EncryptionCodec implements PayloadCodec {
  readonly #keys: readonly PayloadKey[];

  constructor(keys: readonly PayloadKey[]) {
    this.#keys = keys;
  }

  async encode(payloads: Payload[]): Promise<Payload[]> {
    const [key] = this.#keys;
    return key === undefined ? payloads : payloads.map((payload) => seal(payload, key));
  }

  /** @throws {UnreadablePayloadError} when a payload's key is not configured, or the payload was changed. */
  async decode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.map((payload) => (isEncrypted(payload) ? open(payload, this.#keyOf(payload)) : payload));
  }

  #keyOf(payload: Payload): PayloadKey {
    const id = text(payload.metadata?.[KEY_ID_NAME]);
    const key = this.#keys.find((candidate) => candidate.id === id);
    if (key !== undefined) return key;
    throw new UnreadablePayloadError(`A payload is encrypted with the key "${id}", which PAYLOAD_KEYS does not have`);
  }
}

function isEncrypted({ metadata }: Payload): boolean {
  return text(metadata?.[ENCODING_NAME]) === ENCODING;
}

function seal(payload: Payload, { id, key }: PayloadKey): Payload {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES }).setAAD(boundTo(id));
  const data = Buffer.concat([nonce, cipher.update(toBytes(payload)), cipher.final(), cipher.getAuthTag()]);
  return { metadata: { [ENCODING_NAME]: Buffer.from(ENCODING), [KEY_ID_NAME]: Buffer.from(id) }, data };
}

function open(payload: Payload, { id, key }: PayloadKey): Payload {
  const data = Buffer.from(payload.data ?? []);
  const nonce = data.subarray(0, NONCE_BYTES);
  const sealed = data.subarray(NONCE_BYTES, -TAG_BYTES);
  try {
    const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES }).setAAD(boundTo(id));
    decipher.setAuthTag(data.subarray(-TAG_BYTES));
    return fromBytes(Buffer.concat([decipher.update(sealed), decipher.final()]));
  } catch (cause) {
    const message = `The key "${id}" does not decrypt a payload: the payload was changed, or PAYLOAD_KEYS has another key under this id`;
    throw new UnreadablePayloadError(message, { cause });
  }
}

/** Authenticates the metadata that is in the clear: a change of it makes decryption fail. */
function boundTo(keyId: string): Buffer {
  return Buffer.from(`${ENCODING}\n${keyId}`);
}

/** The payload as bytes: the length of its metadata, the metadata as JSON with values in base64, the data. */
function toBytes({ metadata, data }: Payload): Buffer {
  const entries = Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString('base64')]);
  const head = Buffer.from(JSON.stringify(Object.fromEntries(entries)));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(head.length);
  // The SDK's default for a payload without data, such as the answer of an update without a result, is an array.
  return Buffer.concat([length, head, Buffer.from(data ?? [])]);
}

function fromBytes(bytes: Buffer): Payload {
  const dataAt = LENGTH_BYTES + bytes.readUInt32BE();
  const head = JSON.parse(bytes.toString('utf8', LENGTH_BYTES, dataAt)) as Record<string, string>;
  const metadata = Object.entries(head).map(([name, value]) => [name, Buffer.from(value, 'base64')] as const);
  return { metadata: Object.fromEntries(metadata), data: new Uint8Array(bytes.subarray(dataAt)) };
}

function text(bytes: Uint8Array | null | undefined): string {
  return Buffer.from(bytes ?? []).toString();
}
