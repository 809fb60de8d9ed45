import { describe, expect, it } from 'vitest';
import {
  chargeFacts,
  entriesOf,
  hint,
  openModel,
  paidCharge,
  payableModel,
  retrieve,
  secondAttemptModel,
  sourcedModel,
} from '../../../testing/sample-model.js';
import { START } from '../../../testing/simulated-provider.js';
import type { CheckoutModel } from '../checkout-model.js';

const detailOf = (model: CheckoutModel): string | undefined => model.projection(START).attention?.detail;

describe('a charge', () => {
  it.each([
    [
      'with another id',
      { chargeId: 'chrg_9' },
      'Tillflow retrieved charge chrg_1, and the provider answered with chrg_9',
    ],
    ['of another checkout', { checkoutId: 'chk_default_b' }, 'charge chrg_1 belongs to chk_default_b'],
    [
      'of no checkout and with an unknown source',
      { checkoutId: null, sourceId: 'src_9' },
      'charge chrg_1 belongs to no checkout',
    ],
    ['of no checkout and with no source', { checkoutId: null, sourceId: null }, 'charge chrg_1 belongs to no checkout'],
    ['of the other mode', { isOtherMode: true }, 'charge chrg_1 is not in the mode (test or live) of the secret key'],
    ['with another amount', { amount: 1 }, 'charge chrg_1 has the amount 1, not 150000'],
    ['in another currency', { currency: 'MYR' }, 'charge chrg_1 is in MYR, not THB'],
    ['of an attempt that does not exist', { attempt: '3' }, 'charge chrg_1 belongs to attempt 3, which does not exist'],
    ['of another attempt', { attempt: '2' }, 'charge chrg_1 belongs to attempt 2, not 1'],
    ['with an unknown source', { sourceId: 'src_9' }, 'charge chrg_1 uses source src_9, not src_1'],
    [
      'with the source of another attempt',
      { attempt: null, sourceId: 'src_2' },
      'charge chrg_1 uses source src_2, not src_1',
    ],
  ])('a charge %s is not believed, and operators see what differs', (_, change, detail) => {
    const model = secondAttemptModel();
    retrieve(model, START, paidCharge(change), 'chrg_1');
    expect(model.projection(START)).toMatchObject({ paid_at: null, attention: { code: 'integrity_mismatch', detail } });
  });

  it('a charge with an unknown source is not believed either when it answers the request that creates it', () => {
    const model = sourcedModel();
    model.applyCharge(START, { kind: 'done', value: chargeFacts({ sourceId: 'src_9' }) }, START);
    expect(detailOf(model)).toBe('charge chrg_1 uses source src_9, not src_1');
    expect(model.chargeIds).toEqual([]);
  });

  it('a charge without checkout and source is not taken for the charge of an attempt that has no source yet', () => {
    const model = openModel();
    hint(model, START, 'chrg_9');
    retrieve(model, START, chargeFacts({ chargeId: 'chrg_9', checkoutId: null, attempt: null, sourceId: null }));
    expect(model.chargeIds).toEqual([]);
    expect(entriesOf(model).at(-1)).toBe('charge_not_ours: chrg_9');
  });

  it.each([
    ['no metadata', { checkoutId: null, attempt: null }],
    ['no attempt', { attempt: null }],
    ['no source', { sourceId: null }],
  ])('a charge that shows %s is believed', (_, change) => {
    const model = payableModel();
    retrieve(model, START, paidCharge(change));
    expect(model.projection(START)).toMatchObject({ status: 'paid', attention: null });
  });

  it('a charge of an attempt whose source is not known yet is believed with any source', () => {
    const model = openModel();
    hint(model, START, 'chrg_9');
    retrieve(model, START, chargeFacts({ chargeId: 'chrg_9', sourceId: 'src_9' }));
    expect(model.chargeIds).toEqual(['chrg_9']);
    expect(detailOf(model)).toBeUndefined();
  });

  it('a charge that its attempt does not show is believed with another source', () => {
    const model = payableModel();
    hint(model, START, 'chrg_9');
    retrieve(model, START, chargeFacts({ chargeId: 'chrg_9', sourceId: 'src_9' }));
    expect(model.chargeIds).toEqual(['chrg_1', 'chrg_9']);
    expect(detailOf(model)).toBeUndefined();
  });
});
