import {
  checkoutWorkflowId,
  isReference,
  MAX_SLIP_REFERENCE,
  parseCheckoutId,
  type CheckoutKey,
} from '@tillflow/domain';
import { CheckoutList, CheckoutNotFoundError, type Checkouts, type StoredCheckout } from '@tillflow/temporal';
import { toCheckout, type Checkout } from '@tillflow/workflows';
import { UsageError } from './command.js';

/** How many checkouts with one reference are named. */
const MOST_NAMED = 10;

/**
 * Finds a checkout by its id or by its reference.
 * @throws {UsageError} when the text is neither, or is the id of one checkout and the reference of another: a refund
 * could then go to the wrong customer.
 * @throws {CheckoutNotFoundError}
 */
export async function findCheckout(checkouts: Checkouts, text: string): Promise<StoredCheckout> {
  const keys = keysOf(text, checkouts.account);
  if (keys.length === 0) throw new UsageError(`${text} is neither the id of a checkout (chk_…) nor a reference`);
  const found = await Promise.all(keys.map((key) => retrieve(checkouts, key)));
  const [checkout, other] = found.filter((one) => one !== null);
  if (checkout === undefined) throw new CheckoutNotFoundError(`No checkout has the id or reference ${text}`);
  if (other === undefined) return checkout;
  throw new UsageError(
    `${text} is the id of one checkout and the reference of another. Use ${checkout.intent.reference} or ${other.intent.id}.`,
  );
}

async function retrieve(checkouts: Checkouts, key: CheckoutKey): Promise<StoredCheckout | null> {
  try {
    return await checkouts.get(key);
  } catch (error) {
    if (error instanceof CheckoutNotFoundError) return null;
    throw error;
  }
}

function keysOf(text: string, account: string): CheckoutKey[] {
  const named = parseCheckoutId(text);
  return [...(named?.account === account ? [named] : []), ...(isReference(text) ? [{ account, reference: text }] : [])];
}

/**
 * As {@link findCheckout}, and by any reference on a customer's slip. Only to show a checkout: a slip may name another
 * payment.
 * @throws {UsageError} when several payments have this reference.
 */
export async function findByAnyName(checkouts: Checkouts, text: string): Promise<StoredCheckout> {
  try {
    return await findCheckout(checkouts, text);
  } catch (error) {
    if (!(error instanceof CheckoutNotFoundError) && keysOf(text, checkouts.account).length > 0) throw error;
    if (text.length > MAX_SLIP_REFERENCE) throw error;
    const unreadable: string[] = [];
    const list = new CheckoutList(checkouts, { payment_reference: text }, (workflow) => unreadable.push(workflow));
    const { data } = await list.page(MOST_NAMED, null);
    const [found] = data;
    if (unreadable.length > 0) throw new UsageError(cannotBeRead(unreadable.join(', ')));
    if (found === undefined) throw error;
    if (data.length === 1) return found;
    const references = data.map(({ intent }) => intent.reference).join(', ');
    throw new UsageError(`Several payments have the reference ${text}. Show one of these checkouts: ${references}`);
  }
}

/** Why a list leaves out the checkout of a workflow. */
export function cannotBeRead(workflow: string): string {
  return `${workflow} cannot be read: a key of PAYLOAD_KEYS is missing`;
}

/** A checkout for programs: as the API shows it, with its workflow. Amounts are in the smallest unit. */
export type CheckoutJson = Checkout & {
  readonly workflow_id: string;
  /** Whether its workflow has ended, so that it no longer changes. */
  readonly closed: boolean;
};

export function checkoutJson({ intent, state, timeline, closed }: StoredCheckout): CheckoutJson {
  return {
    ...toCheckout(intent, state, timeline),
    workflow_id: checkoutWorkflowId(intent),
    closed,
  };
}
