import 'reflect-metadata';
import { initialState, type StoredRefund } from '@tillflow/workflows';
import { sampleIntent } from '@tillflow/workflows/testing';
import type { StoredCheckout } from '@tillflow/temporal';
import { expect, it } from 'vitest';
import { Problem } from '../problems/problem.js';
import type { CheckoutsRepository } from './checkouts.repository.js';
import { RefundsService, type AskedRefund } from './refunds.service.js';

const intent = sampleIntent();
const pending: StoredRefund = {
  id: null,
  key: 'return-1',
  charge_id: 'chrg_test_1',
  amount: intent.amount,
  currency: intent.currency,
  kind: 'refund',
  status: 'pending',
  reason: null,
  failure_code: null,
  failure_message: null,
  created_at: intent.created_at,
};
const succeeded: StoredRefund = { ...pending, id: 'rfnd_test_1', status: 'succeeded' };

type Answer = Awaited<ReturnType<CheckoutsRepository['refund']>>;
const ANSWERED: Answer = { kind: 'answered', answer: pending };

/** Requests the refund from a workflow. @param read the memo as it is after the workflow's answer */
function requestRefund(read: () => Promise<Partial<StoredCheckout>>, answer: Answer = ANSWERED): Promise<AskedRefund> {
  const repository = {
    refund: () => Promise.resolve(answer),
    get: async () => ({ intent, state: initialState(intent), timeline: [], ...(await read()) }),
  } as unknown as CheckoutsRepository;
  const asker = { by: 'till-7', origin: '127.0.0.1', requestId: 'one' };
  return new RefundsService(repository).create(intent.id, pending.key, {}, asker);
}

it('a refund that is still pending names the version after which it changes', async () => {
  const answer = await requestRefund(() => Promise.resolve({ refunds: [pending], version: 5 }));
  expect(answer).toMatchObject({ status: 202, refund: { status: 'pending' } });
  expect(answer).toHaveProperty('location', expect.stringContaining('after_version=5'));
});

it('a refund that was decided after its answer is shown as decided, because no later change follows', async () => {
  const answer = await requestRefund(() => Promise.resolve({ refunds: [succeeded], version: 6 }));
  expect(answer).toMatchObject({ status: 200, refund: { id: 'rfnd_test_1', status: 'succeeded' } });
});

it('a refund whose checkout cannot be read names version 0, which answers at once', async () => {
  const answer = await requestRefund(() => Promise.reject(new Problem('temporal_unavailable', 'down')));
  expect(answer).toMatchObject({ status: 202 });
  expect(answer).toHaveProperty('location', expect.stringContaining('after_version=0'));
});

/** The memo of a paid checkout with this many refunds of one unit each, while the workflow does not answer. */
function requestBeside(refunds: readonly StoredRefund[]): Promise<AskedRefund> {
  const paid_at = new Date().toISOString();
  const state = { ...initialState(intent), status: 'paid' as const, paid_at, refunded_amount: refunds.length };
  return requestRefund(() => Promise.resolve({ state, refunds, version: 7 }), { kind: 'undecided' });
}

it('a refund that the workflow did not answer is refused when the memo already shows a hundred', async () => {
  const hundred = Array.from({ length: 100 }, (_, n) => ({ ...succeeded, key: `k${n}`, amount: 1 }));
  await expect(requestBeside(hundred)).rejects.toMatchObject({ code: 'too_many_refunds' });
});

it('a refund that the workflow did not answer is pending while one of the hundred counts as made elsewhere', async () => {
  const hundred = Array.from({ length: 100 }, (_, n) => ({ ...succeeded, key: `k${n}`, amount: 1 }));
  const answer = await requestBeside([...hundred.slice(1), { ...succeeded, key: 'rfnd_test_1', amount: 1 }]);
  expect(answer).toMatchObject({ status: 202, refund: { status: 'pending' } });
});

it('a key that belongs to a refund of another amount is refused, also without an answer of the workflow', async () => {
  await expect(requestBeside([{ ...succeeded, amount: 50_000, asked: 50_000 }])).rejects.toMatchObject({
    code: 'idempotency_conflict',
    detail: 'This key already belongs to a refund of THB 500.00',
  });
});
