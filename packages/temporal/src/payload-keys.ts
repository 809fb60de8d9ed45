import { z } from 'zod';

/** A key that payloads are encrypted with. */
export type PayloadKey = {
  /** Stands beside every payload that was encrypted with it. */
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
