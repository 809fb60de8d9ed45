/**
 * Who made a request. The name of an API key contains no colon. `cli:<user>` is the command line, `temporal:cancel` a
 * cancellation in Temporal's own UI or tools, `auto:<why>` Tillflow itself. Absent: not recorded.
 */
export type Attributed = {
  readonly by?: string | undefined;
  /** From where: the address of the client, or the name of the machine of the command line. Absent: not recorded. */
  readonly origin?: string | undefined;
};

/**
 * Limits a name, because every read loads the memo that contains it. The longest name of an API key has 64 characters.
 */
const MAX_LENGTH = 80;

/** Who made the request. A message that is sent by hand can contain anything, or nothing. */
export function askerOf(request: Attributed | undefined): string | undefined {
  return nameIn(request?.by);
}

/** Who made the request, and from where. */
export function requesterOf(request: Attributed | undefined): Attributed {
  return { by: askerOf(request), origin: nameIn(request?.origin) };
}

function nameIn(given: unknown): string | undefined {
  return typeof given === 'string' && given !== '' ? given.slice(0, MAX_LENGTH) : undefined;
}

/** Why Tillflow returns money without a request. */
export const LATE_PAYMENT = 'auto:late_payment';
export const SECOND_PAYMENT = 'auto:second_payment';
/** Why Tillflow retrieves a checkout's charges, or opens a closed checkout again, without a request. */
export const RECONCILED = 'auto:reconciliation';
export const READ_BY_TAIL = 'auto:event_tail';
/** The workflow does not learn who cancelled it: Temporal's history holds the identity of the client. */
export const TEMPORAL_CANCEL = 'temporal:cancel';
