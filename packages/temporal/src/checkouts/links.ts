import { createHash, createHmac } from 'node:crypto';
import { DEFAULT_ACCOUNT } from '@tillflow/domain';

/** The parameters of a route. */
export type RouteParams = Readonly<Record<string, string>>;

/** Writes the address of a route. @param expires Unix seconds */
export type LinkTo = (template: string, params: RouteParams, expires: number) => string;

/** The key that signs, made from a secret of `URL_SIGNING_KEY`. What one account signs is not valid for another. */
export function signingKey(secret: string, account = DEFAULT_ACCOUNT): Buffer {
  const key = createHash('sha256').update(secret).digest();
  return account === DEFAULT_ACCOUNT ? key : createHmac('sha256', key).update(`account ${account}`).digest();
}

/** HMAC-SHA256 in base64url: 43 characters. JSON keeps the parts apart: no two lists of parts have the same text. */
export function signature(key: Buffer, purpose: string, parts: readonly unknown[]): string {
  return createHmac('sha256', key)
    .update(JSON.stringify([purpose, ...parts]))
    .digest('base64url');
}

/** What the signature of a link covers: not the text of the address, which a router may read differently. */
export function signedParts(template: string, params: RouteParams, expires: string): readonly unknown[] {
  const entries = Object.entries(params).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return [template, entries, expires];
}

/** Writes signed links. @param base of every link, without a slash at its end */
export function signedLinks(base: string, key: Buffer): LinkTo {
  return (template, params, expires) => {
    const path = template.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
    const sig = signature(key, 'link', signedParts(template, params, String(expires)));
    return `${base}${path}?expires=${expires}&sig=${sig}`;
  };
}
