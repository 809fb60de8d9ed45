import { DEFAULT_ACCOUNT } from '@tillflow/domain';
import type { CheckoutIntent, Store } from '@tillflow/workflows';

/** The till that a link of the counter opens. */
export type Till = { readonly terminal: string; readonly store: Store | null };

/** The purpose of the signature of a link's token. A session's token has another one. */
export const COUNTER_LINK = 'counter link';

/**
 * Where a caller may act: in these stores, and at these tills. Null: in all of them. The store null stands for checkouts
 * without a store.
 */
export type Place = {
  readonly stores: readonly (string | null)[] | null;
  readonly terminals: readonly string[] | null;
};

/** Whether a checkout or a till is at a place. Undefined stands for every place. */
export function isWithin(
  place: Place | undefined,
  { terminal, store = null }: Pick<CheckoutIntent, 'terminal'> & Partial<Pick<Till, 'store'>>,
): boolean {
  if (place === undefined) return true;
  const { stores, terminals } = place;
  const isInStore = stores === null || stores.includes(store?.id ?? null);
  return isInStore && (terminals === null || (terminal !== null && terminals.includes(terminal)));
}

/** The right to sell at one till. */
export type TillSession = Till & {
  /** The id of the link that gives it. */
  readonly link: string;
  /** Unix seconds. */
  readonly expires: number;
  /** Absent: the account `default`. */
  readonly account?: string | undefined;
};

/** What the signature of a token covers. The token of a further account names it, so that the API finds the account's part. */
function partsOf({ link, terminal, store, expires, account }: TillSession): readonly unknown[] {
  const parts = [link, terminal, store?.id ?? null, store?.name ?? null, expires];
  return account === undefined || account === DEFAULT_ACCOUNT ? parts : [...parts, account];
}

/** A token that gives the right. @param sign signs for one purpose: a link's token, or a session's */
export function writeTillToken(session: TillSession, sign: (parts: readonly unknown[]) => string): string {
  const parts = partsOf(session);
  return `${Buffer.from(JSON.stringify(parts)).toString('base64url')}.${sign(parts)}`;
}

/** The right that a token gives; null when its signature is not valid. It may have expired. */
export function readTillToken(
  token: string,
  verify: (given: string, parts: readonly unknown[]) => boolean,
): TillSession | null {
  const [, given = ''] = token.split('.');
  const parts = partsIn(token);
  if (parts === null || !verify(given, parts)) return null;
  // Only Tillflow signs, so the form needs no check.
  const [link, terminal, store, name, expires, account] = parts as Parts;
  const till = { terminal, store: store === null ? null : { id: store, name } };
  return { link, ...till, expires, ...(account === undefined ? {} : { account }) };
}

type Parts = [string, string, string | null, string | null, number, string?];

/** The account that a token names. Its signature is not checked: the account's own part of the API does that. */
export function accountInTillToken(token: string): string {
  const account = partsIn(token)?.[5];
  return typeof account === 'string' ? account : DEFAULT_ACCOUNT;
}

/** Longer than any token that Tillflow writes. */
const MOST_CHARS = 1_024;

/**
 * The parts of a token; null when the text is not a token. Anyone can send a text in its place: a long or a deep one
 * would cost time, or more stack than there is, before its signature is checked.
 */
function partsIn(token: string): readonly unknown[] | null {
  if (token.length > MOST_CHARS) return null;
  const [content = ''] = token.split('.');
  try {
    const parts: unknown = JSON.parse(Buffer.from(content, 'base64url').toString());
    return Array.isArray(parts) && parts.every((part) => typeof part !== 'object' || part === null) ? parts : null;
  } catch {
    return null;
  }
}
