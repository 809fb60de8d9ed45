import { checkoutWorkflowId, DEFAULT_ACCOUNT, isReference, parseCheckoutId, type CheckoutKey } from '@tillflow/domain';
import { CheckoutNotFoundError, type Checkouts, type StoredCheckout } from '@tillflow/temporal';
import { toCheckout, type Checkout } from '@tillflow/workflows';
import { UsageError } from './exit.js';

/**
 * The checkout that is meant: by its id, or by its reference.
 * @throws {UsageError} when it is neither, or is the id of one and the reference of another: money could go back for the
 *   wrong one. @throws {CheckoutNotFoundError}
 */
export async function findCheckout(checkouts: Checkouts, text: string): Promise<StoredCheckout> {
  const keys = keysOf(text);
  if (keys.length === 0) throw new UsageError(`${text} is neither a checkout's id (chk_…) nor a reference`);
  const looks = await Promise.all(keys.map((key) => look(checkouts, key)));
  const [found, other] = looks.filter((one) => one !== null);
  if (found === undefined) throw new CheckoutNotFoundError(`No checkout has the id or the reference ${text}`);
  if (other === undefined) return found;
  throw new UsageError(
    `${text} is the id of one checkout and the reference of another: say ${found.intent.reference} or ${other.intent.id}`,
  );
}

async function look(checkouts: Checkouts, key: CheckoutKey): Promise<StoredCheckout | null> {
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

/** As programs read it: the API's checkout, and where its workflow is. Amounts in the smallest unit. */
export type CheckoutJson = Checkout & {
  readonly terminal: string | null;
  readonly workflow_id: string;
  /** Its workflow has ended: nothing will change. */
  readonly closed: boolean;
};

export function checkoutJson({ intent, state, closed }: StoredCheckout): CheckoutJson {
  return {
    ...toCheckout(intent, state),
    terminal: intent.terminal,
    workflow_id: checkoutWorkflowId(intent),
    closed,
  };
}
