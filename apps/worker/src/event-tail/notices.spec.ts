import type { Event } from '@tillflow/payments-client';
import { describe, expect, it } from 'vitest';
import { instantOf } from '../activities/charge-facts.js';
import { noticeOf, noticeOfOccurrence, planOf } from './notices.js';

const event = (key: string, data: Event['data']): Event => ({
  object: 'event',
  id: 'evnt_1',
  key,
  created_at: '2026-03-10T09:00:00Z',
  data,
});

describe('a notice of the event tail', () => {
  it('contains ids only', () => {
    const data = { object: 'dispute', id: 'dspt_1', charge: 'chrg_1', message: 'a name and an address' };
    expect(noticeOf(event('dispute.create', data))).toEqual({
      id: 'dispute_opened:dspt_1',
      code: 'dispute_opened',
      since: '2026-03-10T09:00:00.000Z',
      detail: 'A customer disputes a payment: dspt_1',
      subject: 'dspt_1',
      event_id: 'evnt_1',
      charge_id: 'chrg_1',
      plan_id: null,
      checkout_id: null,
    });
  });

  it.each([
    ['schedule.suspend', 'plan_suspended', { object: 'schedule', id: 'schd_1' }],
    ['transfer.fail', 'transfer_failed', { object: 'transfer', id: 'trsf_1', schedule: 'schd_1' }],
  ])('of %s is %s, and names the plan', (key, code, data) => {
    expect(noticeOf(event(key, data))).toMatchObject({ code, plan_id: 'schd_1' });
  });

  it.each(['charge.complete', 'schedule.create', 'schedule.expire', 'transfer.pay', 'customer.create', 'never.heard'])(
    'does not follow from %s',
    (key) => {
      expect(noticeOf(event(key, { object: 'x', id: 'x_1' }))).toBeNull();
    },
  );

  it.each([
    ['schedule.suspend', { object: 'schedule', id: 'schd_1' }, 'schd_1'],
    ['charge.complete', { object: 'charge', id: 'chrg_1', schedule: 'schd_1' }, 'schd_1'],
    ['transfer.send', { object: 'transfer', id: 'trsf_1', schedule: 'schd_1' }, 'schd_1'],
    ['schedule.destroy', { object: 'schedule', id: 'schd_1' }, null],
    ['charge.complete', { object: 'charge', id: 'chrg_1', schedule: null }, null],
    ['customer.update', { object: 'customer', id: 'cust_1', schedule: 'schd_1' }, null],
  ])('follows from the plan after %s of %j', (key, data, plan) => {
    expect(planOf(event(key, data))).toBe(plan);
  });

  it.each([
    ['failed', '2026-03-10T00:00:00Z', 'plan_occurrence_failed'],
    ['skipped', null, 'plan_occurrence_skipped'],
    ['failed', '2026-03-03T08:59:59Z', undefined],
    ['successful', '2026-03-10T00:00:00Z', undefined],
    ['scheduled', null, undefined],
  ])('for an occurrence with status %s at %j has the code %j', (status, processed_at, code) => {
    const notice = noticeOfOccurrence(event('schedule.suspend', { object: 'schedule', id: 'schd_1' }), 'schd_1', {
      object: 'occurrence',
      id: 'occu_1',
      status,
      processed_at,
      scheduled_on: '2026-03-10',
      result: 'chrg_1',
    });
    expect(notice?.code).toBe(code);
    if (notice === null) return;
    expect(notice).toMatchObject({ subject: 'occu_1', event_id: 'occu_1', plan_id: 'schd_1', charge_id: 'chrg_1' });
  });
});

it.each([null, undefined, '', 'yesterday', '2026-03-10'])('the event time %j is invalid', (at) => {
  expect(instantOf(at)).toBeNull();
});
