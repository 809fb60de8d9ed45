import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { FileMistakesError } from '../settings/lined-file.js';
import { apiKeys } from './api-keys.js';
import { hasExpired, KeyRing, SCOPES, type Key } from './keys.js';
import { parseKeysFile, type KeysFileRules } from './keys-file.js';

const hash = (key: string): string => createHash('sha256').update(key).digest('hex');
const RULES: KeysFileRules = { accounts: ['default'], others: [], isLive: false };

const parse = (text: string, rules: Partial<KeysFileRules> = {}): readonly Key[] =>
  parseKeysFile(text, { ...RULES, ...rules });

/** The mistakes that the file has, as `line: text`. */
function mistakesIn(text: string, rules: Partial<KeysFileRules> = {}): readonly string[] {
  try {
    parse(text, rules);
    return [];
  } catch (error) {
    if (!(error instanceof FileMistakesError)) throw error;
    return error.mistakes.map(({ line, text: what }) => `${line}: ${what}`);
  }
}

const TILL = { name: 'till-7', sha256: hash('one'), account: 'default', scopes: ['checkouts:write'] };

describe('a KEYS_FILE', () => {
  it('is YAML, with limits where a key has some', () => {
    const [till, ops] = parse(`
# The tills of Silom
- name: till-7
  sha256: ${hash('one').toUpperCase()}
  account: default
  scopes: [checkouts:read, checkouts:write]
  stores: [silom]
  terminals: ["till-7", till-8]
  not_after: 2027-01-31T00:00:00+07:00
  refund_limit: 50000
- { name: ops, sha256: ${hash('two')}, account: default, scopes: [ops], refund_limit: { THB: 0, SGD: 100 } }
`);
    expect(till).toEqual({
      name: 'till-7',
      account: 'default',
      hash: Buffer.from(hash('one'), 'hex'),
      scopes: ['checkouts:read', 'checkouts:write'],
      stores: ['silom'],
      terminals: ['till-7', 'till-8'],
      notAfter: Date.UTC(2027, 0, 30, 17),
      refundLimit: 50_000,
    });
    expect(ops).toMatchObject({ stores: null, terminals: null, notAfter: null, refundLimit: { THB: 0, SGD: 100 } });
  });

  it('may be JSON, whose last line needs no line break', () => {
    expect(parse(JSON.stringify([TILL], null, 2))).toMatchObject([{ name: 'till-7' }]);
  });

  it.each([
    ['- name: a\n  sha256: { toString: x }\n- name: b\n  sha256: [1]\n', '2: a: sha256: must be text in quotes'],
    [`- { name: x, sha256:${hash('one')} }\n`, '1: x: this: is not a field of a key'],
  ])('names mistakes of any shape', (text, mistake) => {
    expect(mistakesIn(text)).toContain(mistake);
  });

  it('names at most fifty mistakes', () => {
    const mistakes = mistakesIn('- 1\n'.repeat(100));
    expect([mistakes.length, mistakes.at(-1)]).toEqual([51, '0: and 50 more']);
  });

  it('names every mistake with its line, and repeats no hash', () => {
    const mistakes = mistakesIn(`
- name: till 7
  sha256: ${hash('one').slice(1)}
  account: paris
  scopes: [checkouts:read, refund]
- name: ops
  sha256: ${hash('two')}
  scopes: [ops]
  stores: [silom]
  limit: 5
- name: ops
  sha256: ${hash('two').toUpperCase()}
  account: default
  scopes: []
  not_after: tomorrow
  refund_limit: 1.5
- 7
`);
    expect(mistakes).toEqual([
      '2: key 1: name: must have 1 to 64 of A-Z a-z 0-9 . _ -',
      '3: key 1: sha256: must be the SHA-256 of the key: 64 hexadecimal digits',
      '4: key 1: account: is not one of default',
      `5: key 1: scopes: must be one of ${SCOPES.join(', ')}`,
      '6: ops: account: is needed',
      '8: ops: scopes: ops concerns the whole account, so the key can have no stores and no terminals',
      '10: ops: limit: is not a field of a key',
      '11: ops: name: ops is given twice',
      '12: ops: sha256: another key has the same hash',
      '14: ops: scopes: must name at least one',
      '15: ops: not_after: must be a time with its offset, such as 2027-01-31T00:00:00Z',
      '16: ops: refund_limit: must be a whole number in the smallest currency unit, or one for each currency, such as { THB: 50000 }',
      expect.stringMatching(/^17: key 4: /),
    ]);
    expect(mistakes.join()).not.toMatch(/[0-9a-fA-F]{63}/);
  });

  it.each([
    ['an empty file', ''],
    ['a file without keys', '[]\n'],
    ['a mapping', 'name: till-7\n'],
    ['a file that ends within a line', `- ${JSON.stringify(TILL)}`],
    ['a list that does not end', `[${JSON.stringify(TILL)},\n`],
    ['aliases', '- &a { name: x }\n- *a\n'],
    ['a field that is given twice', '- name: a\n  name: b\n'],
  ])('is refused when it is %s', (_, text) => {
    expect(mistakesIn(text).length).toBeGreaterThan(0);
  });

  it('repeats no hash where it cannot be parsed', () => {
    const mistakes = mistakesIn(`- name: a\n  sha256: "x" ${hash('one')}\n  ${hash('two')}\n- [}\n`);
    expect(mistakes.length).toBeGreaterThan(0);
    expect(mistakes.join()).not.toMatch(/[0-9a-f]{32}/);
  });

  it('cannot repeat a name or a hash of API_KEYS', () => {
    const others = apiKeys.parse(`till-7:checkout:${hash('other')},b:ops:${hash('one')}`);
    expect(mistakesIn(`- ${JSON.stringify(TILL)}\n`, { others })).toEqual([
      '1: till-7: name: till-7 is given twice',
      '1: till-7: sha256: another key has the same hash',
    ]);
  });

  it('cannot have a key that docker-compose.yml publishes, when real money moves', () => {
    const text = `- ${JSON.stringify({ ...TILL, sha256: hash('local-ops-key') })}\n`;
    expect(mistakesIn(text)).toEqual([]);
    expect(mistakesIn(text, { isLive: true })).toEqual([
      '1: till-7: sha256: docker-compose.yml publishes this key; make your own',
    ]);
  });
});

describe('API_KEYS', () => {
  it('match only their own token', () => {
    const ring = new KeyRing(apiKeys.parse(`till:checkout:${hash('one')}, ops:ops:${hash('two').toUpperCase()}`));
    expect(ring.find('one')).toMatchObject({ name: 'till' });
    expect(ring.find('two')).toMatchObject({ name: 'ops' });
    expect(ring.find('three')).toBeNull();
    expect(ring.find(hash('one'))).toBeNull();
  });

  it('have the scopes of their role, in the account default, without limits', () => {
    const [till, ops] = apiKeys.parse(`till:checkout:${hash('one')},ops:ops:${hash('two')}`);
    expect(till?.scopes).toEqual(['checkouts:read', 'checkouts:write', 'refunds:write']);
    expect(ops?.scopes).toEqual(SCOPES);
    expect(till).toMatchObject({ account: 'default', stores: null, terminals: null, notAfter: null });
  });

  it.each(['', 'till', `till:admin:${hash('one')}`, 'till:checkout:abc', `a:ops:${hash('x')},a:ops:${hash('y')}`])(
    'are refused when they read "%s", without repeating a hash',
    (text) => {
      const result = apiKeys.safeParse(text);
      expect(result.success).toBe(false);
      expect(result.error?.message).not.toMatch(/[0-9a-f]{64}/);
    },
  );
});

describe('a key', () => {
  it('has expired from its not_after on', () => {
    expect(hasExpired({ notAfter: 1_000 }, 999)).toBe(false);
    expect(hasExpired({ notAfter: 1_000 }, 1_000)).toBe(true);
    expect(hasExpired({ notAfter: null }, Number.MAX_SAFE_INTEGER)).toBe(false);
  });
});
