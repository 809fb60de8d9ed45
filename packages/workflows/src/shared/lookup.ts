/** The result of a read, or the reason why it has none. */
export type Lookup<T> = { readonly seen: T } | NotShown;

/** `unseen` is for people. `status` is the HTTP status of the provider's answer; null when there was none. */
export type NotShown = { readonly unseen: string; readonly code: string; readonly status?: number | null };

/** The provider's code for a record that it does not have, and the client's for an id that cannot be one. */
const ABSENT: ReadonlySet<string> = new Set(['not_found', 'invalid_id']);

/** The provider answered with another record than the one that was retrieved. */
export function isDisbelieved({ code }: NotShown): boolean {
  return code === 'integrity_mismatch';
}

/** There is no such record: by the code, or by the status where the body has another code or none. */
export function saysItDoesNotExist({ code, status = null }: NotShown): boolean {
  return ABSENT.has(code) || status === 404;
}
