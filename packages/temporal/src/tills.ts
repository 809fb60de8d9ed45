import type { CheckoutIntent, Store } from '@tillflow/workflows';

/** The till that a link of the counter opens. */
export type Till = { readonly terminal: string; readonly store: Store | null };

/** The purpose of the signature of a link's token. A session's token has another one. */
export const COUNTER_LINK = 'counter link';

/** Names the till of a checkout, or of a session: two checkouts with the same name belong to the same till. */
export function tillNameOf({
  terminal,
  store = null,
}: Pick<CheckoutIntent, 'terminal'> & Partial<Pick<Till, 'store'>>): string {
  return JSON.stringify([store?.id ?? null, terminal]);
}

/** The right to sell at one till. */
export type TillSession = Till & {
  /** The id of the link that gives it. */
  readonly link: string;
  /** Unix seconds. */
  readonly expires: number;
};

/** What the signature of a token covers. */
function partsOf({ link, terminal, store, expires }: TillSession): readonly unknown[] {
  return [link, terminal, store?.id ?? null, store?.name ?? null, expires];
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
  const [content = '', given = ''] = token.split('.');
  const parts = parsed(Buffer.from(content, 'base64url').toString());
  if (!Array.isArray(parts) || !verify(given, parts)) return null;
  // Only Tillflow signs, so the form needs no check.
  const [link, terminal, store, name, expires] = parts as [string, string, string | null, string | null, number];
  return { link, terminal, store: store === null ? null : { id: store, name }, expires };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
