import { describe, expect, it } from 'vitest';
import { mayChangeCheckout, routeEvent } from './routing.js';

const event = (data: unknown) => ({ id: 'evnt_1', key: 'charge.complete', data });
const CHARGE = { object: 'charge', id: 'chrg_test_1' };
const REFUND = { object: 'refund', id: 'rfnd_test_1', charge: 'chrg_test_1' };
const metadata = { checkout: 'chk_default_a' };

describe('routing an event', () => {
  it('finds checkout and charge of a charge event', () => {
    expect(routeEvent(event({ ...CHARGE, metadata }))).toEqual({
      id: 'evnt_1',
      key: 'charge.complete',
      subject: 'chrg_test_1',
      checkout: { account: 'default', reference: 'a' },
      chargeId: 'chrg_test_1',
      transactionId: null,
      showsMetadata: true,
    });
  });

  it('finds the refunded charge of a refund event', () => {
    expect(routeEvent(event(REFUND))).toEqual({
      id: 'evnt_1',
      key: 'charge.complete',
      subject: 'rfnd_test_1',
      checkout: null,
      chargeId: 'chrg_test_1',
      transactionId: null,
      showsMetadata: false,
    });
  });

  it('finds the transaction of a paid charge, and not that of a refund', () => {
    const transaction = 'trxn_test_1';
    expect(routeEvent(event({ ...CHARGE, transaction }))?.transactionId).toBe(transaction);
    expect(routeEvent(event({ ...REFUND, transaction }))?.transactionId).toBeNull();
    for (const other of ['../x', 7, null, `${transaction}' OR ''`, `x${transaction}`]) {
      expect(routeEvent(event({ ...CHARGE, transaction: other }))?.transactionId).toBeNull();
    }
  });

  it('reads an id of 200 characters, and no longer one', () => {
    const read = (id: string): string | undefined => routeEvent({ ...event(CHARGE), id })?.id;
    expect(read('e'.repeat(200))).toBe('e'.repeat(200));
    expect(read('e'.repeat(201))).toBe('');
  });

  it.each([
    { object: 'transfer', id: 'chrg_test_1' },
    { object: 'transfer', charge: 'chrg_test_1' },
    { object: 'charge' },
    { object: 'refund', charge: null },
    { id: 'trsf_test_1' },
    { object: 'refund', charge: `chrg_' OR ''='` },
    { object: 'charge', id: `chrg_test_1' OR ''='` },
    { object: 'charge', id: `' OR chrg_test_1` },
    { object: 'charge', id: 'rfnd_test_1' },
    { object: 'charge', id: ['chrg_test_1'] },
  ])('finds no charge in the data %j', (data) => {
    expect(routeEvent(event(data))?.chargeId).toBeNull();
  });

  it.each([{ checkout: 'chk_other_a' }, { checkout: 7 }, { checkout: '../x' }, 7, null])(
    'with the metadata %j names no checkout',
    (other) => {
      expect(routeEvent(event({ ...CHARGE, metadata: other }))?.checkout).toBeNull();
    },
  );

  it('finds no charge when the event names the checkout of another system', () => {
    expect(routeEvent(event({ ...CHARGE, metadata: { checkout: 'chk_other_a' } }))?.chargeId).toBeNull();
    expect(routeEvent(event({ ...CHARGE, metadata: {} }))?.chargeId).toBe('chrg_test_1');
  });

  it.each([
    { object: 'refund', charge: { id: 'chrg_test_1' } },
    { id: 'chrg_test_1' },
    { object: null, id: 'chrg_test_1', metadata: null },
  ])('finds the charge in the data %j of another API version', (data) => {
    expect(routeEvent(event(data))).toMatchObject({ chargeId: 'chrg_test_1', showsMetadata: false });
  });

  it('uses the readable parts of an event that does not match its schema', () => {
    const routed = routeEvent({ id: 7, key: null, data: { object: 'charge', id: null, metadata } });
    expect(routed).toMatchObject({ id: '', key: '', subject: '', checkout: { reference: 'a' }, chargeId: null });
    expect(routed !== null && mayChangeCheckout(routed)).toBe(true);
  });

  it.each([null, 7, {}, { id: 'evnt_1', key: 'x' }, event(null), event([]), event('chrg_test_1')])(
    '%j is none',
    (body) => {
      expect(routeEvent(body)).toBeNull();
    },
  );

  it('may change a checkout for every kind of event that names one, except charge.create', () => {
    const isNewsWith = (key: string, data: unknown): boolean => {
      const routed = routeEvent({ id: 'evnt_1', key, data });
      return routed !== null && mayChangeCheckout(routed);
    };
    expect(isNewsWith('charge.complete', CHARGE)).toBe(true);
    expect(isNewsWith('charge.never_heard_of', { ...CHARGE, metadata })).toBe(true);
    expect(isNewsWith('refund.create', REFUND)).toBe(true);
    expect(isNewsWith('charge.create', { ...CHARGE, metadata })).toBe(false);
    expect(isNewsWith('transfer.pay', { object: 'transfer', id: 'trsf_1' })).toBe(false);
  });
});
