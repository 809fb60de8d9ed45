import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import type { PayloadKey } from './payload-keys.js';

const ALGORITHM = 'aes-256-gcm';
const ENCODING = 'binary/encrypted';
/** Names in an encrypted payload's metadata. */
const ENCODING_NAME = 'encoding';
const KEY_ID_NAME = 'encryption-key-id';
/** 96 bits, drawn at random for each payload. Source: NIST SP 800-38D, 8.2.2. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const LENGTH_BYTES = 4;

/** An encrypted payload that the configured keys do not open. The message names the key, and what to do. */
export class UnreadablePayloadError extends Error {
  override readonly name = 'UnreadablePayloadError';
}

/**
 * Encrypts with the first key and decrypts with whichever key a payload names. Without keys it encrypts nothing.
 * What is not encrypted is read as it is, so that encryption can be turned on while workflows run.
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
  const data = Buffer.concat([nonce, cipher.update(pack(payload)), cipher.final(), cipher.getAuthTag()]);
  return { metadata: { [ENCODING_NAME]: Buffer.from(ENCODING), [KEY_ID_NAME]: Buffer.from(id) }, data };
}

function open(payload: Payload, { id, key }: PayloadKey): Payload {
  const data = Buffer.from(payload.data ?? []);
  const nonce = data.subarray(0, NONCE_BYTES);
  const sealed = data.subarray(NONCE_BYTES, -TAG_BYTES);
  try {
    const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES }).setAAD(boundTo(id));
    decipher.setAuthTag(data.subarray(-TAG_BYTES));
    return unpack(Buffer.concat([decipher.update(sealed), decipher.final()]));
  } catch (cause) {
    const message = `A payload does not open with the key "${id}": it was changed, or PAYLOAD_KEYS has another key under this id`;
    throw new UnreadablePayloadError(message, { cause });
  }
}

/** What a payload says in the clear cannot be changed without notice. */
function boundTo(keyId: string): Buffer {
  return Buffer.from(`${ENCODING}\n${keyId}`);
}

/** The payload as bytes: the length of its metadata, the metadata as JSON with values in base64, the data. */
function pack({ metadata, data }: Payload): Buffer {
  const entries = Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString('base64')]);
  const head = Buffer.from(JSON.stringify(Object.fromEntries(entries)));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(head.length);
  return Buffer.concat([length, head, data ?? new Uint8Array()]);
}

function unpack(packed: Buffer): Payload {
  const dataAt = LENGTH_BYTES + packed.readUInt32BE();
  const head = JSON.parse(packed.toString('utf8', LENGTH_BYTES, dataAt)) as Record<string, string>;
  const metadata = Object.entries(head).map(([name, value]) => [name, Buffer.from(value, 'base64')] as const);
  return { metadata: Object.fromEntries(metadata), data: new Uint8Array(packed.subarray(dataAt)) };
}

function text(bytes: Uint8Array | null | undefined): string {
  return Buffer.from(bytes ?? []).toString();
}
