import { Injectable } from '@nestjs/common';
import { EncryptionCodec, UnreadablePayloadError, type Payload } from '@tillflow/temporal';
import { Settings } from '../providers.js';
import type { PayloadJson, PayloadsJson } from './codec.schema.js';

/** Encodes and decodes payloads as the workflows do, for tools that have no keys. */
@Injectable()
export class CodecService {
  readonly #codec: EncryptionCodec;

  constructor(settings: Settings) {
    this.#codec = new EncryptionCodec(settings.values.PAYLOAD_KEYS ?? []);
  }

  encode(body: PayloadsJson): Promise<PayloadsJson> {
    return each(body, (payload) => this.#codec.encode([payload]));
  }

  /** A payload that cannot be decrypted stays as it is, with the id of its key. The others are decoded. */
  decode(body: PayloadsJson): Promise<PayloadsJson> {
    return each(body, async (payload) => {
      try {
        return await this.#codec.decode([payload]);
      } catch (error) {
        if (error instanceof UnreadablePayloadError) return [payload];
        throw error;
      }
    });
  }
}

async function each({ payloads }: PayloadsJson, work: (payload: Payload) => Promise<Payload[]>): Promise<PayloadsJson> {
  const done = payloads.map(async (json) => {
    const payload = fromJson(json);
    const [result = payload] = await work(payload);
    return result === payload ? json : toJson(result);
  });
  return { payloads: await Promise.all(done) };
}

function fromJson({ metadata, data }: PayloadJson): Payload {
  const entries = Object.entries(metadata).map(([name, value]) => [name, Buffer.from(value, 'base64')] as const);
  return { metadata: Object.fromEntries(entries), data: Buffer.from(data, 'base64') };
}

function toJson({ metadata, data }: Payload): PayloadJson {
  const entries = Object.entries(metadata ?? {}).map(([name, value]) => [name, base64(value)] as const);
  return { metadata: Object.fromEntries(entries), data: base64(data ?? new Uint8Array()) };
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
