import { DEFAULT_ACCOUNT } from '@tillflow/domain';
import { z } from 'zod';
import { SCOPES, type Key, type Scope } from './keys.js';

const ENTRY = /^([A-Za-z0-9._-]{1,64}):(checkout|ops):([0-9a-fA-F]{64})$/;

const SCOPES_OF: Readonly<Record<string, readonly Scope[]>> = {
  checkout: ['checkouts:read', 'checkouts:write', 'refunds:write'],
  ops: SCOPES,
};

/** The setting `API_KEYS`: `name:role:sha256hex`, comma-separated. Each key is of the account `default`, without limits. */
export const apiKeys = z.string().transform((text, context): Key[] => {
  const keys: Key[] = [];
  for (const [index, entry] of text.split(',').entries()) {
    const [, name, role = '', hash] = ENTRY.exec(entry.trim()) ?? [];
    if (name === undefined || hash === undefined) {
      context.addIssue(`entry ${index + 1} must be name:role:sha256hex with the role checkout or ops`);
      continue;
    }
    if (keys.some((key) => key.name === name)) context.addIssue(`the name ${name} is given twice`);
    keys.push({ ...UNLIMITED, name, scopes: SCOPES_OF[role] ?? [], hash: Buffer.from(hash, 'hex') });
  }
  return keys;
});

const UNLIMITED = { account: DEFAULT_ACCOUNT, stores: null, terminals: null, notAfter: null, refundLimit: null };
