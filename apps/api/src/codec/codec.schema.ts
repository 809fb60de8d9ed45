import { z } from 'zod';

/** Bytes as protobuf's JSON has them: base64 of either alphabet, with or without padding. */
const bytes = z.string().regex(/^[A-Za-z0-9+/_-]*={0,2}$/, 'must be base64');

/** Fields that we do not know stay where they are. */
const payload = z.looseObject({ metadata: z.record(z.string(), bytes).default({}), data: bytes.default('') });
export type PayloadJson = z.output<typeof payload>;

/** A payload is two levels deep, and three around it. Writing JSON deeper than some thousand levels fails. */
const MAX_DEPTH = 32;

/** Body and answer of Temporal's remote codec protocol. */
export const payloads = z
  .looseObject({ payloads: z.array(payload).default([]) })
  .refine((body) => depthIsAtMost(MAX_DEPTH, body), `must not be nested more than ${MAX_DEPTH} levels deep`);
export type PayloadsJson = z.output<typeof payloads>;

export const codecAddress = z
  .object({
    url: z.url().meta({ description: 'To paste into the Temporal UI as its codec endpoint; keep it to yourself' }),
    expires_at: z.iso.datetime(),
  })
  .meta({ id: 'CodecAddress' });
export type CodecAddress = z.output<typeof codecAddress>;

/** Level by level: recursion would fail where this is to answer. */
function depthIsAtMost(depth: number, value: unknown): boolean {
  let level: unknown[] = [value];
  for (let left = depth; left > 0 && level.length > 0; left -= 1) {
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []));
  }
  return level.every((one) => typeof one !== 'object' || one === null);
}
