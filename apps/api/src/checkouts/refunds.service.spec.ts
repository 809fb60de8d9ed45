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

/** Requests the refund from a workflow that answers `pending`. @param read the memo as it is after that answer */
function requestRefund(read: () => Promise<Partial<StoredCheckout>>): Promise<AskedRefund> {
  const repository = {
    refund: () => Promise.resolve({ kind: 'answered', answer: pending }),
    get: async () => ({ intent, state: initialState(intent), timeline: [], ...(await read()) }),
  } as unknown as CheckoutsRepository;
  const asker = { by: 'till-7', requestId: 'one' };
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
