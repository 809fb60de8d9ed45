import { plus } from '@tillflow/domain';
import { describe, expect, it } from 'vitest';
import {
  chargeFacts,
  entriesOf,
  hint,
  nextAttemptModel,
  paidCharge,
  payableModel,
  retrieve,
  secondAttemptModel,
  secondCharge,
  stepAt,
} from '../../testing/sample-model.js';
import { MINUTE, START } from '../../testing/simulated-provider.js';
import { Attempts, emptyAttempt, MAX_ATTEMPTS, type AttemptsState } from './attempts.js';
import { emptyState } from './state.js';

/** @param count how many attempts there are; the last ones can be paid. */
function attemptsOf(count: number, changes: Partial<AttemptsState> = {}): Attempts {
  const attempts = new Attempts({ ...emptyState().attempts, isReopened: changes.isReopened === true });
  for (let index = 0; index < count; index += 1) attempts.open(START, START, 900, `src_${index + 1}`);
  if (changes.cancelRequested === true) attempts.requestCancel();
  return attempts;
}

const paid = attemptsOf(2);
paid.pay(1, 'chrg_1', 'src_1', true);

describe('a request for the next attempt', () => {
  it.each([0, -1, 3, 1.5, Number.NaN])('a request for the next attempt after attempt %d of two is refused', (after) => {
    const refused = { code: 'attempt_unknown', message: 'The newest attempt is 2' };
    expect(attemptsOf(2).refuseNext(after)).toEqual(refused);
  });

  it.each([
    ['is refused once the checkout is paid', paid, { code: 'already_paid', message: 'The checkout is paid' }],
    [
      'is refused once the checkout is cancelled',
      attemptsOf(2, { cancelRequested: true }),
      { code: 'checkout_closed', message: 'The checkout was cancelled' },
    ],
    [
      'is refused when a late payment has reopened the checkout',
      attemptsOf(2, { isReopened: true }),
      { code: 'checkout_closed', message: 'The checkout had closed before a late payment came' },
    ],
    [
      'is refused after twenty attempts',
      attemptsOf(MAX_ATTEMPTS),
      { code: 'too_many_attempts', message: 'A checkout has at most 20 attempts' },
    ],
    ['is accepted after nineteen attempts', attemptsOf(MAX_ATTEMPTS - 1), null],
  ])('a request for the next attempt %s', (_, attempts, answer) => {
    expect(attempts.refuseNext(attempts.current.number)).toEqual(answer);
    // The attempt after the first one exists, so a repeated request for it succeeds.
    expect(attempts.refuseNext(1)).toBeNull();
  });

  it('a request for the next attempt is forgotten when the customer pays the present one', () => {
    const model = payableModel();
    model.requestAttempt(START, { after: 1 });
    retrieve(model, START, paidCharge());
    model.advanceTo(START);
    expect(model.isEnded).toBe(true);
    expect(model.projection(START)).toMatchObject({ status: 'paid', attempts: [{ number: 1 }] });
  });
});

describe('an unexpected charge', () => {
  it.each([
    ['counts for the first attempt when it names it', { attempt: '1', sourceId: null }, 'chrg_3'],
    ['counts for the second attempt when it names it', { attempt: '2', sourceId: null }, 'chrg_3, attempt 2'],
    [
      'without metadata counts for the first attempt when it uses its source',
      { checkoutId: null, attempt: null, sourceId: 'src_1' },
      'chrg_3',
    ],
    [
      'without metadata counts for the second attempt when it uses its source',
      { checkoutId: null, attempt: null, sourceId: 'src_2' },
      'chrg_3, attempt 2',
    ],
    [
      'counts for the present attempt when it names neither attempt nor source',
      { attempt: null, sourceId: null },
      'chrg_3, attempt 2',
    ],
  ])('an unexpected charge %s', (_, facts, detail) => {
    const model = secondAttemptModel();
    hint(model, START, 'chrg_3');
    retrieve(model, START, chargeFacts({ chargeId: 'chrg_3', ...facts }));
    expect(entriesOf(model).at(-1)).toBe(`charge_created: ${detail}`);
  });

  it('an unexpected charge without attempt and source counts for the present attempt, also when an earlier one has no source', () => {
    const attempts = new Attempts(emptyState().attempts);
    attempts.open(START, START, 900, null);
    attempts.open(START, START, 900, 'src_2');
    expect(attempts.attemptOf({ attempt: null, sourceId: null }).number).toBe(2);
  });

  it('an unexpected charge without metadata and with an unknown source belongs to another checkout', () => {
    const model = secondAttemptModel();
    hint(model, START, 'chrg_3');
    retrieve(model, START, chargeFacts({ chargeId: 'chrg_3', checkoutId: null, attempt: null, sourceId: 'src_9' }));
    expect(entriesOf(model).at(-1)).toBe('charge_not_ours: chrg_3');
  });
});

describe('an attempt', () => {
  it('an attempt cannot be paid any more once another attempt was paid', () => {
    const model = secondAttemptModel();
    expect(stepAt(model, START)).toMatchObject({ do: 'wait' });
    retrieve(model, START, paidCharge());
    expect(stepAt(model, START)).toEqual({ do: 'expireCharge', chargeId: 'chrg_2' });
    expect(model.projection(START).qr).toBeNull();
  });

  it('an attempt that shows one charge is not paid by another charge, which is a second payment', () => {
    const model = secondAttemptModel();
    retrieve(model, START, paidCharge());
    hint(model, START, 'chrg_3');
    retrieve(model, START, paidCharge({ chargeId: 'chrg_3', sourceId: 'src_2', attempt: '2' }));
    const { attempts, attention } = model.projection(START);
    expect(attempts).toMatchObject([
      { charge_id: 'chrg_1', status: 'successful' },
      { charge_id: 'chrg_2', status: 'pending' },
    ]);
    expect(attention?.detail).toBe('chrg_3 was paid although chrg_1 was paid before');
  });

  it('an attempt shows the charge by which it was paid, and its source', () => {
    const model = payableModel();
    hint(model, START, 'chrg_3');
    retrieve(model, START, paidCharge({ chargeId: 'chrg_3', sourceId: 'src_3' }));
    expect(model.projection(START).attempts).toMatchObject([{ charge_id: 'chrg_3', source_id: 'src_3' }]);
  });

  it('an attempt that was paid stays the payment when the charge of an earlier one is paid too', () => {
    const model = secondAttemptModel();
    retrieve(model, START, secondCharge({ status: 'successful' }));
    retrieve(model, START, paidCharge());
    expect(model.state.charges.accepted).toBe('chrg_2');
    expect(entriesOf(model).at(-2)).toBe('paid_twice: chrg_1');
  });

  it.each([
    ['can be paid until its time to pay ends', 1, 15 * MINUTE - 1, true],
    ['cannot be paid when its time to pay ends', 1, 15 * MINUTE, false],
    ['cannot be paid when a newer attempt is open', 2, 0, false],
  ])('an attempt %s', (_, count, after, canBePaid) => {
    const attempts = attemptsOf(count);
    expect(attempts.isWithdrawn(attempts.find(1), plus(START, after))).toBe(!canBePaid);
  });

  it('an attempt can be paid until the next one is requested, or the checkout is cancelled', () => {
    const attempts = attemptsOf(1);
    attempts.requestNext();
    expect(attempts.isWithdrawn(attempts.current, START)).toBe(true);
    attempts.withdrawRequestForNext();
    expect(attempts.isWithdrawn(attempts.current, START)).toBe(false);
    attempts.requestCancel();
    expect(attempts.isWithdrawn(attempts.current, START)).toBe(true);
  });

  it('an attempt exists in every checkout: a list without one is an error', () => {
    const attempts = new Attempts({ list: [], replaced: null, cancelRequested: false, isReopened: false });
    expect(() => attempts.current).toThrow('A checkout has at least one attempt');
    expect(new Attempts({ ...emptyState().attempts, list: [emptyAttempt()] }).current.number).toBe(1);
  });
});

describe('a request to cancel', () => {
  it('a request to cancel counts once, and names who made it', () => {
    const model = payableModel();
    model.requestCancel(START, { by: 'cli:ann' });
    model.requestCancel(START, { by: 'cli:ben' });
    const requests = model.timeline.filter(({ what }) => what === 'cancel_requested');
    expect(requests).toEqual([{ at: '2026-03-10T09:00:00.000Z', what: 'cancel_requested', by: 'cli:ann' }]);
  });

  it('a request to cancel takes the place of a request for the next attempt', () => {
    const model = payableModel();
    model.requestAttempt(START, { after: 1 });
    model.requestCancel(START);
    retrieve(model, START, chargeFacts({ status: 'expired' }));
    model.advanceTo(START);
    expect(model.projection(START)).toMatchObject({ status: 'cancelled', attempts: [{ number: 1 }] });
  });

  it('a request to cancel ends an attempt that has no charge yet', () => {
    const model = nextAttemptModel();
    model.requestCancel(START);
    model.advanceTo(START);
    expect(model.projection(START)).toMatchObject({ status: 'cancelled', attempts: [{}, { status: 'expired' }] });
  });
});
