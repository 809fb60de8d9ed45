import { createHash, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

/** `checkout` may create, read, cancel and refund checkouts. `ops` may do everything. */
export type Role = 'checkout' | 'ops';

export type ApiKey = { readonly name: string; readonly role: Role; readonly hash: Buffer };

const ENTRY = /^([A-Za-z0-9._-]{1,64}):(checkout|ops):([0-9a-fA-F]{64})$/;

/** The setting `API_KEYS`: `name:role:sha256hex`, comma-separated. The setting has only hashes. */
export const apiKeys = z.string('is needed').transform((text, context): ApiKey[] => {
  const keys: ApiKey[] = [];
  for (const [index, entry] of text.split(',').entries()) {
    const [, name, role, hash] = ENTRY.exec(entry.trim()) ?? [];
    if (name === undefined || hash === undefined) {
      context.addIssue(`entry ${index + 1} must be name:role:sha256hex with the role checkout or ops`);
      continue;
    }
    if (keys.some((key) => key.name === name)) context.addIssue(`the name ${name} is given twice`);
    keys.push({ name, role: role === 'ops' ? 'ops' : 'checkout', hash: Buffer.from(hash, 'hex') });
  }
  return keys;
});

/** The key of a bearer token, compared in constant time; null for an unknown one. */
export function findKey(keys: readonly ApiKey[], token: string): ApiKey | null {
  const hash = createHash('sha256').update(token).digest();
  let found: ApiKey | null = null;
  for (const key of keys) {
    if (timingSafeEqual(key.hash, hash)) found = key;
  }
  return found;
}

export function mayActAs(role: Role, needed: Role): boolean {
  return role === 'ops' || role === needed;
}
