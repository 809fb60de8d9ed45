import { plus, type Instant } from '@tillflow/domain';
import { describe, expect, it } from 'vitest';
import { chargeFacts, openModel } from '../testing/sample-model.js';
import { START } from '../testing/simulated-provider.js';
import { changedMemo, openedMemo } from './memo.js';
import type { CheckoutModel } from './model/checkout-model.js';
import type { CheckoutMemo } from './types.js';

const source = { outcome: { kind: 'done', value: { sourceId: 'src_1' } }, at: START } as const;
const charge = { outcome: { kind: 'done', value: chargeFacts() }, at: START } as const;

/** What the workflow writes first, when this happens in the task that reads the answer to its charge. */
function firstMemo(happens: (model: CheckoutModel) => void, now: Instant = START) {
  const model = openModel();
  model.applySource(source.at, source.outcome);
  happens(model);
  model.applyCharge(now, charge.outcome, START);
  model.advanceTo(now);
  const memo = changedMemo(model, model.projection(now), now, undefined);
  model.wasPublished(memo.version);
  return { memo, model };
}

/** What the history shows before that. */
function opening() {
  const { intent } = openModel();
  const memo: CheckoutMemo = { intent, requestNonce: '' };
  return openedMemo({ memo, input: {}, openedAt: START, source, charge });
}

describe('the first memo of a checkout', () => {
  it('the first memo of a checkout is what its history shows, when nothing else happens', () => {
    const { memo } = firstMemo(() => {});
    expect(memo).toMatchObject({ version: 1, state: { qr: { raw_data: 'qr 1' } } });
    expect(opening()).toMatchObject(memo);
  });

  it.each<[name: string, happens: (model: CheckoutModel) => void, now: Instant]>([
    ['a cancellation', (model) => model.requestCancel(START), START],
    ['a request for a new code', (model) => model.requestAttempt(START, { after: 1 }), START],
    ['the end of its time, while no worker ran', () => {}, plus(START, 900_000)],
  ])(
    'the first memo of a checkout is newer than what its history shows, when %s withdraws the QR code',
    (_, happens, now) => {
      const shown = opening();
      const { memo, model } = firstMemo(happens, now);
      expect(shown).toMatchObject({ version: 1, state: { qr: { raw_data: 'qr 1' } } });
      expect(memo).toMatchObject({ version: 2, state: { status: 'awaiting_payment', qr: null } });
      expect(memo.events?.awaiting_payment?.[0]).toBe(1);
      expect(model.state.published.version).toBe(2);
    },
  );
});
