import { describe, expect, it } from 'vitest';
import { SENT_TOO_LATE } from '../../shared/unknown-outcome.js';
import { DrivenCheckout, notAccepted, pendingCharge, refusal } from '../../testing/driven-checkout.js';
import { unknownOutcome } from '../../testing/runner.js';
import { MINUTE, SECOND, START } from '../../testing/simulated-provider.js';

const tooLate = { kind: 'rejected', code: SENT_TOO_LATE, message: 'too late', retryable: true } as const;
const LATE = 'so nothing was sent: check its clock or its load';

function refund(outcome: typeof notAccepted): DrivenCheckout {
  const checkout = DrivenCheckout.paid();
  checkout.askRefund('k', 50_000);
  checkout.sendRefund();
  checkout.answerRefund('k', outcome);
  return checkout;
}

function charge(outcome: typeof notAccepted): DrivenCheckout {
  const checkout = DrivenCheckout.withSource();
  checkout.model.applyCharge(START, outcome, START);
  return checkout;
}

function source(): DrivenCheckout {
  const checkout = DrivenCheckout.opened();
  checkout.model.applySource(START, notAccepted);
  return checkout;
}

function silent(): DrivenCheckout {
  const checkout = DrivenCheckout.payable();
  checkout.missRetrieve();
  return checkout;
}

function expiring(): DrivenCheckout {
  const checkout = DrivenCheckout.payable();
  checkout.model.requestCancel(START);
  checkout.model.applyExpire(START, 'chrg_1');
  checkout.retrieve(pendingCharge);
  return checkout;
}

describe('an attention that lasts', () => {
  it.each<[string, string, string, () => DrivenCheckout]>([
    [
      'the provider does not expire a charge',
      'expire_refused',
      'the provider does not expire chrg_1: a customer may be confirming',
      expiring,
    ],
    ['the provider does not answer', 'provider_unreachable', 'the provider does not answer', silent],
    ['the provider accepts no source', 'provider_unreachable', 'the provider does not accept a source yet', source],
    [
      'the provider accepts no charge',
      'provider_unreachable',
      'the provider does not accept a charge yet',
      () => charge(notAccepted),
    ],
    [
      'the provider accepts no refund',
      'provider_unreachable',
      'the provider does not accept a refund yet',
      () => refund(notAccepted),
    ],
    [
      'the worker is too late for a charge',
      'worker_late',
      `the worker came too late to send the request for a charge, ${LATE}`,
      () => charge(tooLate),
    ],
    [
      'the worker is too late for a refund',
      'worker_late',
      `the worker came too late to send the request for a refund, ${LATE}`,
      () => refund(tooLate),
    ],
    [
      'a charge has an unknown outcome',
      'outcome_unknown',
      'it is not known yet whether src_1 was charged',
      () => charge(unknownOutcome),
    ],
    [
      'no search confirms that a charge was refused',
      'outcome_unknown',
      'it is not known yet whether src_1 was charged',
      () => charge(refusal),
    ],
    [
      'a refund has an unknown outcome',
      'outcome_unknown',
      'it is not known yet whether refund k was made',
      () => refund(unknownOutcome),
    ],
  ])('operators see it once %s for a minute', (_, code, detail, make) => {
    const checkout = make();
    checkout.model.advanceTo(checkout.pass(MINUTE - 1).now);
    expect(checkout.view.attention).toBeNull();
    checkout.model.advanceTo(checkout.pass(1).now);
    expect(checkout.view.attention).toEqual({ code, since: '2026-03-10T09:01:00.000Z', detail });
  });

  it('a checkout whose first call was not made yet shows no attention', () => {
    const checkout = DrivenCheckout.opened();
    checkout.model.advanceTo(checkout.pass(MINUTE).now);
    expect(checkout.view.attention).toBeNull();
  });

  it('a checkout wakes up to show an attention', () => {
    const checkout = charge(notAccepted);
    checkout.pass(SECOND);
    checkout.model.applyCharge(checkout.now, notAccepted, START);
    checkout.pass(5 * SECOND);
    checkout.model.applyCharge(checkout.now, notAccepted, START);
    checkout.pass(30 * SECOND);
    checkout.model.applyCharge(checkout.now, notAccepted, START);
    const until = START + MINUTE;
    expect(checkout.step).toEqual({ do: 'wait', until, why: 'then show an attention to operators' });
  });
});
