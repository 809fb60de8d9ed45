import { randomBytes } from 'node:crypto';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EncryptionCodec, UnreadablePayloadError, type PayloadKey } from './encryption-codec.js';

const keyOf = (id: string): PayloadKey => ({ id, key: randomBytes(32) });
const old = keyOf('old');
const fresh = keyOf('fresh');
const secret = { description: 'Coffee for Somchai', amount: 150_000 };
const payload = defaultPayloadConverter.toPayload(secret);

const encrypt = async (codec: EncryptionCodec, plain: Payload = payload): Promise<Payload> =>
  (await codec.encode([plain]))[0] ?? {};
const decrypt = async (codec: EncryptionCodec, encrypted: Payload): Promise<unknown> =>
  defaultPayloadConverter.fromPayload((await codec.decode([encrypted]))[0] ?? {});
const textOf = (bytes: Uint8Array | null | undefined): string => Buffer.from(bytes ?? []).toString('latin1');
const changed = (bytes: Uint8Array | null | undefined, at: number): Uint8Array => {
  const copy = Buffer.from(bytes ?? []);
  const index = at < 0 ? copy.length + at : at;
  copy[index] = (copy[index] ?? 0) ^ 1;
  return copy;
};

describe('an encrypted payload', () => {
  it('names its key, and reveals nothing of its content', async () => {
    const { metadata, data } = await encrypt(new EncryptionCodec([fresh, old]));
    expect(Object.keys(metadata ?? {}).toSorted()).toEqual(['encoding', 'encryption-key-id']);
    expect(textOf(metadata?.['encoding'])).toBe('binary/encrypted');
    expect(textOf(metadata?.['encryption-key-id'])).toBe('fresh');
    for (const part of ['Coffee', 'Somchai', '150000', 'json/plain', Buffer.from('Coffee').toString('base64')]) {
      expect(textOf(data)).not.toContain(part);
    }
  });

  it('differs each time, also for the same content', async () => {
    const codec = new EncryptionCodec([fresh]);
    const seen = await Promise.all(Array.from({ length: 100 }, async () => textOf((await encrypt(codec)).data)));
    expect(new Set(seen.map((data) => data.slice(0, 12))).size).toBe(100);
    expect(new Set(seen).size).toBe(100);
  });

  it('decrypts to exactly the same payload', async () => {
    const codec = new EncryptionCodec([fresh]);
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string(), fc.uint8Array()), fc.uint8Array(), async (metadata, data) => {
        const [read] = await codec.decode(await codec.encode([{ metadata, data }]));
        expect(Object.fromEntries(Object.entries(read?.metadata ?? {}).map(([k, v]) => [k, [...v]]))).toEqual(
          Object.fromEntries(Object.entries(metadata).map(([k, v]) => [k, [...v]])),
        );
        expect([...(read?.data ?? [])]).toEqual([...data]);
      }),
    );
  });

  it('is a payload without data before and after, also where the SDK gives an empty array', async () => {
    const codec = new EncryptionCodec([fresh]);
    for (const data of [undefined, null, [] as unknown as Uint8Array]) {
      const [read] = await codec.decode(await codec.encode([{ metadata: {}, ...(data !== undefined && { data }) }]));
      expect(read?.data).toHaveLength(0);
    }
  });

  it('with an older key is decrypted while that key is configured, and encrypted with the first key', async () => {
    const before = await encrypt(new EncryptionCodec([old]));
    expect(await decrypt(new EncryptionCodec([fresh, old]), before)).toEqual(secret);
  });

  it('with a missing key is refused with the name of the key', async () => {
    const before = await encrypt(new EncryptionCodec([old]));
    for (const keys of [[fresh], []]) {
      const read = decrypt(new EncryptionCodec(keys), before);
      await expect(read).rejects.toThrow(UnreadablePayloadError);
      await expect(read).rejects.toThrow('the key "old", which PAYLOAD_KEYS does not have');
    }
  });

  it('is refused when another key has its id', async () => {
    const read = decrypt(new EncryptionCodec([keyOf('old')]), await encrypt(new EncryptionCodec([old])));
    await expect(read).rejects.toThrow('another key under this id');
  });

  it('is refused after a change of any bit, or when it is cut', async () => {
    const codec = new EncryptionCodec([fresh]);
    const { metadata = {}, data } = await encrypt(codec);
    const bytes = Buffer.from(data ?? []);
    for (const at of [0, 11, 12, 20, -17, -16, -1]) {
      await expect(decrypt(codec, { metadata, data: changed(data, at) })).rejects.toThrow(UnreadablePayloadError);
    }
    for (const cut of [bytes.subarray(0, -1), bytes.subarray(0, 28), bytes.subarray(0, 5), new Uint8Array()]) {
      await expect(decrypt(codec, { metadata, data: cut })).rejects.toThrow(UnreadablePayloadError);
    }
  });

  it('is bound to the id of its key: the same key with another id does not decrypt it', async () => {
    const { metadata, data } = await encrypt(new EncryptionCodec([old]));
    const renamed = { metadata: { ...metadata, 'encryption-key-id': Buffer.from('new') }, data };
    await expect(decrypt(new EncryptionCodec([{ ...old, id: 'new' }]), renamed)).rejects.toThrow('was changed');
  });
});

describe('an unencrypted payload', () => {
  it('is read unchanged, with and without keys', async () => {
    for (const keys of [[fresh], []]) expect(await decrypt(new EncryptionCodec(keys), payload)).toEqual(secret);
  });

  it('is written when no key is configured', async () => {
    expect(await new EncryptionCodec([]).encode([payload])).toEqual([payload]);
  });
});
