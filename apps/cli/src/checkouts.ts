import { checkoutWorkflowId, DEFAULT_ACCOUNT, isReference, parseCheckoutId, type CheckoutKey } from '@tillflow/domain';
import { CheckoutNotFoundError, type Checkouts, type StoredCheckout } from '@tillflow/temporal';
import { toCheckout, type Checkout } from '@tillflow/workflows';
import { UsageError } from './command.js';

/**
 * Finds a checkout by its id or by its reference.
 * @throws {UsageError} when the text is neither, or is the id of one checkout and the reference of another: a refund could
 *   then go to the wrong customer.
 * @throws {CheckoutNotFoundError}
 */
export async function findCheckout(checkouts: Checkouts, text: string): Promise<StoredCheckout> {
  const keys = keysOf(text);
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

function keysOf(text: string): CheckoutKey[] {
  const named = parseCheckoutId(text);
  return [
    ...(named === null ? [] : [named]),
    ...(isReference(text) ? [{ account: DEFAULT_ACCOUNT, reference: text }] : []),
  ];
}

/** A checkout for programs: as the API shows it, with its workflow. Amounts are in the smallest unit. */
export type CheckoutJson = Checkout & {
  readonly workflow_id: string;
  /** Whether its workflow has ended, so that it no longer changes. */
  readonly closed: boolean;
};

export function checkoutJson({ intent, state, closed }: StoredCheckout): CheckoutJson {
  return {
    ...toCheckout(intent, state),
    workflow_id: checkoutWorkflowId(intent),
    closed,
  };
}
