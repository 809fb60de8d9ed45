import { CURRENCIES, isInstant, parseInstant, REFERENCE } from '@tillflow/domain';
import { z } from 'zod';
import { isPublishedSecret } from '../settings/live-key.js';
import { FileMistakesError, LinedFile, type Mistake } from '../settings/lined-file.js';
import { WatchedFile } from '../settings/watched-file.js';
import { KEY_HASH, KEY_NAME, KeyRing, SCOPES, type Key } from './keys.js';

const MOST_KEYS = 10_000;
const MOST_PLACES = 1_000;

const limit = z.int().nonnegative();

const entry = z.strictObject({
  name: z.string(needed('text')).regex(KEY_NAME, 'must have 1 to 64 of A-Z a-z 0-9 . _ -'),
  sha256: z.string(needed('text in quotes')).regex(KEY_HASH, 'must be the SHA-256 of the key: 64 hexadecimal digits'),
  account: z.string(needed('the name of an account')),
  scopes: z
    .array(z.enum(SCOPES, `must be one of ${SCOPES.join(', ')}`), needed('a list of scopes'))
    .min(1, 'must name at least one'),
  stores: places(z.string('must be text').regex(REFERENCE, 'must have 1 to 64 of A-Z a-z 0-9 . _ -')),
  terminals: places(z.string('must be text').regex(/^[^\p{Cs}\p{Cc}]{1,64}$/u, 'must have 1 to 64 characters')),
  not_after: z
    .string('must be a time')
    .refine(isInstant, 'must be a time with its offset, such as 2027-01-31T00:00:00Z')
    .optional(),
  refund_limit: z
    .union([limit, z.partialRecord(z.enum(CURRENCIES), limit)], {
      error: 'must be a whole number in the smallest currency unit, or one for each currency, such as { THB: 50000 }',
    })
    .optional(),
});

export type KeysFileRules = {
  /** The accounts that keys may name. */
  readonly accounts: readonly string[];
  /** The keys of `API_KEYS`. No key of the file may have the name or the hash of one of them. */
  readonly others: readonly Key[];
  /** Real money moves: keys that docker-compose.yml publishes are refused. */
  readonly isLive: boolean;
};

/**
 * The keys of a `KEYS_FILE`, which is YAML or JSON: a list of `{ name, sha256, account, scopes, stores?, terminals?,
 * not_after?, refund_limit? }`.
 * @throws {FileMistakesError} with every mistake and its line. It never repeats a hash.
 */
export function parseKeysFile(text: string, rules: KeysFileRules): readonly Key[] {
  const file = new LinedFile(text);
  const entries = file.value;
  if (!Array.isArray(entries) || entries.length === 0 || entries.length > MOST_KEYS) {
    throw new FileMistakesError([{ line: 1, text: `the file must be a list of 1 to ${MOST_KEYS} keys` }]);
  }
  const keys: Key[] = [];
  const mistakes: Mistake[] = [];
  const taken: Taken = {
    names: new Set(rules.others.map(({ name }) => name)),
    hashes: new Set(rules.others.map(({ hash }) => hash.toString('hex'))),
  };
  for (const [index, given] of entries.entries()) {
    const parsed = entry.safeParse(given);
    if (parsed.success) keys.push(toKey(parsed.data));
    for (const { path, text: what } of [...shapeMistakes(parsed.error), ...ruleMistakes(given, taken, rules)]) {
      mistakes.push({ line: file.lineOf([index, ...path]), text: `${subjectOf(given, index)}: ${what}` });
    }
  }
  if (mistakes.length > 0) throw new FileMistakesError(mistakes.toSorted((one, other) => one.line - other.line));
  return keys;
}

/**
 * The keys of `API_KEYS` and of a `KEYS_FILE` together.
 * @throws {FileMistakesError} with every mistake of the file
 */
export function openKeysFile(path: string, rules: () => KeysFileRules): WatchedFile<KeyRing> {
  return new WatchedFile(path, (text) => {
    const now = rules();
    return new KeyRing([...now.others, ...parseKeysFile(text, now)]);
  });
}

type Found = { readonly path: readonly PropertyKey[]; readonly text: string };

function shapeMistakes(error: z.ZodError | undefined): readonly Found[] {
  return (error?.issues ?? []).flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((name) => ({
        path: [...issue.path, name],
        text: `${/^[a-z_]{1,20}$/.test(name) ? name : 'this'}: is not a field of a key`,
      }));
    }
    const [field] = issue.path;
    return [{ path: issue.path, text: field === undefined ? issue.message : `${String(field)}: ${issue.message}` }];
  });
}

/** The names and the hashes of the keys before a key. */
type Taken = { readonly names: Set<string>; readonly hashes: Set<string> };

/** What no field shows alone. Fields may have the wrong type here: then the shape is wrong too. */
function ruleMistakes(given: unknown, { names, hashes }: Taken, { accounts, isLive }: KeysFileRules): Found[] {
  const { name, sha256, account, scopes, stores, terminals } = fieldsOf(given);
  const found: Found[] = [];
  if (typeof name === 'string') {
    if (names.has(name)) found.push({ path: ['name'], text: `name: ${name} is given twice` });
    names.add(name);
  }
  if (typeof sha256 === 'string' && KEY_HASH.test(sha256)) {
    const hash = sha256.toLowerCase();
    if (hashes.has(hash)) found.push({ path: ['sha256'], text: 'sha256: another key has the same hash' });
    hashes.add(hash);
    if (isLive && isPublishedSecret(hash)) {
      found.push({ path: ['sha256'], text: 'sha256: docker-compose.yml publishes this key; make your own' });
    }
  }
  if (typeof account === 'string' && !accounts.includes(account)) {
    found.push({ path: ['account'], text: `account: is not one of ${accounts.join(', ')}` });
  }
  if (Array.isArray(scopes) && scopes.includes('ops') && (stores ?? terminals) !== undefined) {
    found.push({
      path: ['scopes'],
      text: 'scopes: ops concerns the whole account, so the key can have no stores and no terminals',
    });
  }
  return found;
}

function fieldsOf(given: unknown): Readonly<Record<string, unknown>> {
  return typeof given === 'object' && given !== null ? (given as Readonly<Record<string, unknown>>) : {};
}

/** How messages name an entry: by its name where it has one. */
function subjectOf(given: unknown, index: number): string {
  const { name } = fieldsOf(given);
  return typeof name === 'string' && KEY_NAME.test(name) ? name : `key ${index + 1}`;
}

function toKey({ sha256, not_after, refund_limit, ...given }: z.output<typeof entry>): Key {
  return {
    name: given.name,
    account: given.account,
    scopes: given.scopes,
    hash: Buffer.from(sha256, 'hex'),
    stores: given.stores ?? null,
    terminals: given.terminals ?? null,
    notAfter: not_after === undefined ? null : parseInstant(not_after),
    refundLimit: refund_limit ?? null,
  };
}

function places(one: z.ZodString) {
  return z
    .array(one, 'must be a list')
    .min(1, 'must name at least one; leave it out for all')
    .max(MOST_PLACES, `must name at most ${MOST_PLACES}`)
    .optional();
}

function needed(what: string): { readonly error: (issue: { readonly input?: unknown }) => string } {
  return { error: ({ input }) => (input === undefined ? 'is needed' : `must be ${what}`) };
}
