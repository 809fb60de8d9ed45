/**
 * What asks for something says who asked. The name of an API key has no colon; a name with one is of no key:
 * `cli:<user>` is the command line, `temporal:cancel` a cancellation from Temporal's own UI or tools, `auto:<why>`
 * Tillflow itself. Absent: not recorded, as in what an older release wrote.
 */
export type Attributed = { readonly by?: string | undefined };

/** A name is in the memo that every read loads. The longest name of an API key has 64 characters. */
const MAX_LENGTH = 80;

/** Who asked. A message that somebody sends by hand may hold anything, or nothing. */
export function askerOf(request: Attributed | undefined): string | undefined {
  const by: unknown = request?.by;
  return typeof by === 'string' && by !== '' ? by.slice(0, MAX_LENGTH) : undefined;
}

/** Why Tillflow gives money back without being asked. */
export const LATE_PAYMENT = 'auto:late_payment';
export const SECOND_PAYMENT = 'auto:second_payment';
/** Why Tillflow looks at a checkout, or opens a closed one again, without being asked. */
export const RECONCILED = 'auto:reconciliation';
export const READ_BY_TAIL = 'auto:event_tail';
/** Nothing tells the workflow who it was: Temporal's history holds the identity of the client. */
export const TEMPORAL_CANCEL = 'temporal:cancel';
