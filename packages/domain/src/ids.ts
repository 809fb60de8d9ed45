/** The longest reference of a payment that Tillflow stores, in characters. */
export const MAX_SLIP_REFERENCE = 64;

/**
 * A reference from a customer's slip as payments are searched by it: people type it with spaces, and in either case.
 * The prefix keeps it apart from the ids of charges.
 */
export function slipReference(text: string): string {
  return `~${text.normalize('NFKC').replaceAll(/\s/gu, '').toUpperCase()}`;
}

declare const checkoutIdBrand: unique symbol;

/** Identifies a checkout. The caller chooses the reference, unique in its account: 1 to 64 of `A-Z a-z 0-9 . _ -`. */
export type CheckoutKey = { readonly account: string; readonly reference: string };

/** `chk_<account>_<reference>`: can be converted back to the key without a search. */
export type CheckoutId = string & { readonly [checkoutIdBrand]: true };

export const DEFAULT_ACCOUNT = 'default';

export const REFERENCE = /^[A-Za-z0-9._-]{1,64}$/;
/** Contains no underscore, so that the first underscore after the prefix of an id ends it. */
export const ACCOUNT = /^[a-z0-9-]{1,32}$/;
const ACCOUNT_QUEUE = /^(.+)\/account\/([a-z0-9-]{1,32})$/;
export const CHECKOUT_ID = /^chk_([a-z0-9-]{1,32})_([A-Za-z0-9._-]{1,64})$/;
const WORKFLOW_ID = /^checkout\/([a-z0-9-]{1,32})\/([A-Za-z0-9._-]{1,64})$/;

export function isReference(text: string): boolean {
  return REFERENCE.test(text);
}

/** @throws {RangeError} when account or reference is not well formed. */
export function checkoutId({ account, reference }: CheckoutKey): CheckoutId {
  if (!ACCOUNT.test(account)) throw new RangeError(`Not an account: ${account}`);
  if (!REFERENCE.test(reference)) throw new RangeError(`Not a reference: ${reference}`);
  return `chk_${account}_${reference}` as CheckoutId;
}

/** Null when the text is not a checkout's id. */
export function parseCheckoutId(text: string): CheckoutKey | null {
  return keyOf(CHECKOUT_ID.exec(text));
}

/** The id of the workflow that owns the checkout. */
export function checkoutWorkflowId({ account, reference }: CheckoutKey): string {
  return `checkout/${account}/${reference}`;
}

/** Null when the text is not the id of a checkout's workflow. */
export function parseCheckoutWorkflowId(text: string): CheckoutKey | null {
  return keyOf(WORKFLOW_ID.exec(text));
}

/** @param match of a pattern that captures the account and the reference */
function keyOf(match: RegExpExecArray | null): CheckoutKey | null {
  if (match === null) return null;
  const [account, reference] = match.slice(1) as [string, string];
  return { account, reference };
}

/**
 * The task queue of an account. Each account has a queue of its own, with its own workers, schedules and event tail, so
 * that an account whose provider is down slows no other.
 * @param taskQueue of the installation, which is that of the account `default`
 */
export function queueOfAccount(taskQueue: string, account: string): string {
  return account === DEFAULT_ACCOUNT ? taskQueue : `${taskQueue}/account/${account}`;
}

/** The account that a task queue belongs to. */
export function accountOf(taskQueue: string): string {
  return ACCOUNT_QUEUE.exec(taskQueue)?.[2] ?? DEFAULT_ACCOUNT;
}

/** The task queue of the installation that an account's queue belongs to. */
export function installationQueue(taskQueue: string): string {
  return ACCOUNT_QUEUE.exec(taskQueue)?.[1] ?? taskQueue;
}

/** The prefix of refund keys that Tillflow makes. A caller's key must not begin with it. */
export const OWN_KEY_PREFIX = 'auto:';
