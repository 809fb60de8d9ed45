import { describe, expect, it } from 'vitest';
import { KeyRing, type Key, type Scope } from './keys.js';
import { refundRightsOf } from './refund-rights.js';

const NOW = Date.UTC(2026, 10, 25);

const key = (name: string, scopes: readonly Scope[], more: Partial<Key> = {}): Key => ({
  name,
  account: 'default',
  hash: Buffer.from(name),
  scopes,
  stores: null,
  terminals: null,
  notAfter: null,
  refundLimit: null,
  ...more,
});

const keys = new KeyRing([
  key('clerk', ['refunds:write'], { refundLimit: 50_000 }),
  key('teller', ['refunds:write'], { refundLimit: { SGD: 100 } }),
  key('boss', ['refunds:write', 'refunds:approve']),
  key('manager', ['refunds:approve']),
  key('silom', ['refunds:write', 'refunds:approve'], { stores: ['silom'] }),
  key('foreign', ['refunds:write', 'refunds:approve'], { account: 'osaka' }),
  key('old', ['refunds:write', 'refunds:approve'], { notAfter: NOW }),
]);

const rightsOf = (by: string | null, ring: KeyRing | null = keys) =>
  refundRightsOf(ring, 'default', { by, currency: 'THB', terminal: null, store: { id: 'siam', name: null } }, NOW);

describe('the rights of a requester', () => {
  it.each([
    ['clerk', 50_000, false],
    ['teller', 0, false],
    ['boss', null, true],
    ['manager', 0, true],
    ['silom', 0, false],
    ['foreign', 0, false],
    ['old', 0, false],
    ['anyone', 0, false],
    ['auto:late_payment', 0, false],
    [null, 0, false],
    ['cli:som', null, true],
  ])('%s may refund %s alone, and approve: %s', (by, limit, approves) => {
    expect(rightsOf(by)).toEqual({ limit, approves });
  });

  it('have no limit where the worker has no file', () => {
    expect(rightsOf('anyone', null)).toEqual({ limit: null, approves: true });
  });
});
