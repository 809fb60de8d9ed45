import { parseInstant, type TillflowCheckout } from '@tillflow/domain';
import { showsPayment } from '@tillflow/workflows';
import type { StoredCheckout } from './checkout-workflow.js';

/** A checkout, reduced to what a reconciliation and a day report read. */
export function toTillflowCheckout({ intent, state, refunds, timeline, closed }: StoredCheckout): TillflowCheckout {
  return {
    id: intent.id,
    status: state.status,
    amount: intent.amount,
    currency: intent.currency,
    paidAt: state.paid_at === null ? null : parseInstant(state.paid_at),
    till: { store: intent.store?.id ?? null, terminal: intent.terminal },
    closed,
    charges: chargesOf({ state, refunds, timeline }),
    refunds: refunds.map(({ id, key, charge_id, amount, status }) => ({
      id,
      key,
      chargeId: charge_id,
      amount,
      status,
    })),
  };
}

/**
 * The charges of attempts, and further paid charges, whose refunds return the money. An attempt also shows paid when
 * another charge of it was paid: the timeline then names that charge.
 */
function chargesOf({
  state: { attempts },
  refunds,
  timeline,
}: Pick<StoredCheckout, 'state' | 'refunds' | 'timeline'>): TillflowCheckout['charges'] {
  const hasOtherPaidCharge = timeline.some(
    ({ what, detail }) => what === 'paid_twice' && !attempts.some(({ charge_id: id }) => id === detail),
  );
  const charges = new Map<string, TillflowCheckout['charges'][number]>();
  for (const { charge_id: id, status } of attempts) {
    if (id === null) continue;
    const isOtherPaid = hasOtherPaidCharge && status === 'successful' && !showsPayment({ timeline }, id);
    charges.set(id, { id, status: isOtherPaid ? 'expired' : status });
  }
  for (const { charge_id: id } of refunds) charges.set(id, { id, status: 'successful' });
  return [...charges.values()];
}
