import { z } from 'zod';

/** Bytes in protobuf's JSON: base64 in either alphabet, with or without padding. */
const bytes = z.string().regex(/^[A-Za-z0-9+/_-]*={0,2}$/, 'must be base64');

/** Unknown fields stay as they are. */
const payload = z.looseObject({ metadata: z.record(z.string(), bytes).default({}), data: bytes.default('') });
export type PayloadJson = z.output<typeof payload>;

/** Body and answer of Temporal's remote codec protocol. `edge/json.ts` has refused deep JSON before. */
export const payloads = z.looseObject({ payloads: z.array(payload).default([]) });
export type PayloadsJson = z.output<typeof payloads>;

export const codecAddress = z
  .object({
    url: z.url().meta({ description: 'Paste it into the Temporal UI as the codec endpoint. Keep it secret' }),
    expires_at: z.iso.datetime(),
  })
  .meta({
    id: 'CodecAddress',
    examples: [
      {
        url: 'https://pay.example/codec/1795282218.AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8',
        expires_at: '2026-11-21T17:30:18.000Z',
      },
    ],
  });
export type CodecAddress = z.output<typeof codecAddress>;
