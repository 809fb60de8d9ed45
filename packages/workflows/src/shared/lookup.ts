/** What a look brought: the charge, or why the provider showed none. */
export type Lookup<T> = { readonly seen: T } | NotShown;

/** `status` is the HTTP status of the provider's answer, null where there was none. */
export type NotShown = { readonly unseen: string; readonly code: string; readonly status?: number | null };

/** What the provider calls a record that it does not have, and what our client calls an id that cannot be one. */
const NONE: ReadonlySet<string> = new Set(['not_found', 'invalid_id']);

/** The provider answered, about another record than the one that was asked for. */
export function isDisbelieved({ code }: NotShown): boolean {
  return code === 'integrity_mismatch';
}

/** There is no such charge: by the words, or, where the body has others or none, by the status. */
export function saysItDoesNotExist({ code, status = null }: NotShown): boolean {
  return NONE.has(code) || status === 404;
}
