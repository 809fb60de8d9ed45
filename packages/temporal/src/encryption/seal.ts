import { hkdfSync } from 'node:crypto';
import { EncryptionCodec, type PayloadKey } from './encryption-codec.js';

const KEY_BYTES = 32;
const KEY_ID = 'sealed';
const PURPOSE = 'tillflow sealed values';

/**
 * Encrypts values that must never be readable in Temporal's database, with or without `PAYLOAD_KEYS`, such as a card
 * holder's name. Its key is derived from a secret that the API and the worker share anyway.
 */
export class Seal {
  readonly #codec: EncryptionCodec;
  readonly #metadata: PayloadMetadata;

  constructor(secret: string) {
    const key: PayloadKey = { id: KEY_ID, key: Buffer.from(hkdfSync('sha256', secret, '', PURPOSE, KEY_BYTES)) };
    this.#codec = new EncryptionCodec([key]);
    this.#metadata = { encoding: Buffer.from('binary/encrypted'), 'encryption-key-id': Buffer.from(KEY_ID) };
  }

  /** @param value any JSON value */
  async close(value: unknown): Promise<string> {
    const [payload] = await this.#codec.encode([{ metadata: {}, data: Buffer.from(JSON.stringify(value)) }]);
    return Buffer.from(payload?.data ?? []).toString('base64');
  }

  /** @throws {UnreadablePayloadError} when the value was sealed with another secret, or changed. */
  async open(sealed: string): Promise<unknown> {
    const [payload] = await this.#codec.decode([
      { metadata: this.#metadata, data: new Uint8Array(Buffer.from(sealed, 'base64')) },
    ]);
    return JSON.parse(Buffer.from(payload?.data ?? []).toString('utf8')) as unknown;
  }
}

type PayloadMetadata = Record<string, Uint8Array>;
