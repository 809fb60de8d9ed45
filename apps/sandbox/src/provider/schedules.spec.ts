import { describe, expect, it } from 'vitest';
import type { ChargeJson, FailureCode, OccurrenceJson, ScheduleJson } from '../index.js';
import { openSandbox, type Bench, type ListBody } from '../../test/harness.js';

/** A Tuesday. */
const AT = '2026-03-10T09:00:00.000Z';
const DAY = 86_400;
const DAILY = { every: 1, period: 'day', end_date: '2026-03-31' };

type Form = Record<string, string | number | boolean>;

async function open(failure_code: FailureCode | null = null) {
  const bench = await openSandbox({ seed: 's', now: AT, frozen: true });
  const { customers, cards } = bench.sandbox.seedRecords({ customers: [{ cards: [{ failure_code }] }] });
  const [customer = '', card = ''] = [customers[0], cards[0]];
  const charge = { 'charge[customer]': customer, 'charge[amount]': 150_000, 'charge[currency]': 'THB' };
  return { ...bench, customer, card, charge };
}

const create = async ({ call }: Bench, form: Form): Promise<ScheduleJson> => {
  const { status, text, body } = await call<ScheduleJson>('POST', '/schedules', { form });
  if (status !== 200) throw new Error(text);
  return body;
};
const retrieve = async ({ call }: Bench, id: string): Promise<ScheduleJson> =>
  (await call<ScheduleJson>('GET', `/schedules/${id}`)).body;
const occurrencesOf = async ({ call }: Bench, id: string): Promise<OccurrenceJson[]> =>
  (await call<ListBody<OccurrenceJson>>('GET', `/schedules/${id}/occurrences?limit=100`)).body.data;
const shortly = (occurrences: OccurrenceJson[]): unknown[] =>
  occurrences.map(({ scheduled_on, status, retry_on }) => [scheduled_on, status, retry_on]);
const eventKeys = ({ sandbox }: Bench): string[] =>
  sandbox
    .state(['events'])
    .events?.map(({ key }) => key)
    .filter((key) => key.startsWith('schedule.')) ?? [];

describe('a schedule', () => {
  it('starts on its start_date', async () => {
    const bench = await open();
    const { id } = await create(bench, { ...DAILY, ...bench.charge, start_date: '2026-03-20' });
    bench.sandbox.setNow('2026-03-19T23:59:59.999Z');
    expect(bench.sandbox.state().charges).toEqual([]);
    bench.sandbox.setNow('2026-03-20T00:00:00Z');
    expect(shortly(await occurrencesOf(bench, id))[0]).toEqual(['2026-03-20', 'successful', null]);
  });

  const bad: [string, Form][] = [
    ['every', { every: 366 }],
    ['every', { every: '' }],
    ['period', { period: '' }],
    ['end_date', { end_date: '' }],
    ['end_date', { end_date: '2026-03-09' }],
    ['end_date', { end_date: '9999-12-31' }],
    ['start_date', { start_date: '2026-03-09' }],
    ['on', { 'on[weekdays][]': 'monday' }],
    ['weekdays', { period: 'week', 'on[weekdays]': 'monday' }],
    ['on', { period: 'week', 'on[days_of_month][]': 1 }],
    ['on', { period: 'month', 'on[days_of_month][]': 1, 'on[weekday_of_month]': 'last_friday' }],
    ['on', { period: 'month', 'on[weekday_of_month]': '5th_friday' }],
    ['on', { period: 'month', 'on[weekday_of_month]': 'friday' }],
    ['on', { period: 'month', 'on[hours][]': 1 }],
    ['no occurrence', { period: 'month', 'on[days_of_month][]': 1 }],
    ['transfer', { 'transfer[amount]': 1 }],
  ];
  it.each(bad)('with a wrong %s (%j) is refused and changes nothing', async (name, form) => {
    const bench = await open();
    const before = bench.sandbox.state(['schedules', 'events', 'occurrences']);
    const reply = await bench.call('POST', '/schedules', { form: { ...DAILY, ...bench.charge, ...form } });
    expect(reply).toMatchObject({ status: 400, body: { code: 'bad_request' } });
    expect(reply.body.message).toContain(name);
    expect(bench.sandbox.state(['schedules', 'events', 'occurrences'])).toEqual(before);
  });

  it.each<[number, string, Form]>([
    [400, 'bad_request', { 'charge[amount]': 150_000 }],
    [400, 'invalid_amount', { 'charge[amount]': 1, 'charge[customer]': 'x' }],
    [400, 'bad_request', { 'transfer[amount]': 0 }],
    [400, 'bad_request', { 'transfer[amount]': 1, 'transfer[percentage_of_balance]': 1 }],
    [400, 'bad_request', { 'transfer[percentage_of_balance]': 0 }],
    [400, 'bad_request', { 'transfer[percentage_of_balance]': 100.1 }],
    [400, 'bad_request', { 'transfer[currency]': 'THB' }],
  ])('is refused with %i %s when its work is %j', async (status, code, form) => {
    const bench = await open();
    expect(await bench.call('POST', '/schedules', { form: { ...DAILY, ...form } })).toMatchObject({
      status,
      body: { code },
    });
  });

  it('with a card of another customer is refused', async () => {
    const bench = await open();
    const { cards } = bench.sandbox.seedRecords({ cards: [{}] });
    const form = { ...DAILY, ...bench.charge, 'charge[card]': cards[0] ?? '' };
    expect((await bench.call('POST', '/schedules', { form })).status).toBe(404);
  });
});

describe('an occurrence', () => {
  it('charges the card on its day: the charge has schedule, customer and card', async () => {
    const bench = await open();
    const { id } = await create(bench, { ...DAILY, ...bench.charge, start_date: '2026-03-11' });
    bench.sandbox.advance(DAY);
    const [first, second] = await occurrencesOf(bench, id);
    expect(first).toMatchObject({ scheduled_on: '2026-03-11', retry_on: null, status: 'successful', message: null });
    expect(first?.processed_at).toBe('2026-03-11T00:00:00.000Z');
    expect(second).toMatchObject({ scheduled_on: '2026-03-12', status: 'scheduled', result: null });
    expect((await bench.call<OccurrenceJson>('GET', first?.location ?? '')).body).toEqual(first);
    const { body } = await bench.call<ChargeJson>('GET', `/charges/${first?.result}`);
    expect(body).toMatchObject({
      status: 'successful',
      paid: true,
      amount: 150_000,
      net: 147_352,
      refundable: true,
      source: null,
      schedule: id,
      customer: bench.customer,
      card: { object: 'card', id: bench.card, last_digits: '4242' },
      created_at: '2026-03-11T00:00:00.000Z',
    });
    expect(bench.sandbox.state().transactions).toMatchObject([{ amount: 147_352, origin: body.id }]);
    expect(bench.sandbox.state().events.map(({ key }) => key)).toEqual(
      expect.arrayContaining(['charge.create', 'charge.complete']),
    );
  });

  it('on the day of creation is due immediately', async () => {
    const bench = await open();
    const { id, next_occurrences_on: next } = await create(bench, { ...DAILY, ...bench.charge });
    expect(next[0]).toBe('2026-03-10');
    expect(shortly(await occurrencesOf(bench, id))).toEqual([
      ['2026-03-10', 'successful', null],
      ['2026-03-11', 'scheduled', null],
    ]);
    expect((await retrieve(bench, id)).next_occurrences_on[0]).toBe('2026-03-11');
  });

  it('that fails is retried on each of the next two days, and then suspends the schedule', async () => {
    const bench = await open('insufficient_fund');
    const monthly = { every: 1, period: 'month', 'on[days_of_month][]': 15, end_date: '2027-03-10' };
    const { id } = await create(bench, { ...monthly, ...bench.charge });
    bench.sandbox.setNow('2026-03-15T12:00:00Z');
    expect(shortly(await occurrencesOf(bench, id))).toEqual([
      ['2026-03-15', 'failed', '2026-03-16'],
      ['2026-04-15', 'scheduled', null],
    ]);
    expect(await retrieve(bench, id)).toMatchObject({ status: 'running', active: true });
    bench.sandbox.advance(DAY);
    expect(shortly(await occurrencesOf(bench, id))[0]).toEqual(['2026-03-15', 'failed', '2026-03-17']);
    expect(eventKeys(bench)).toEqual(['schedule.create']);
    bench.sandbox.advance(DAY);
    expect(shortly(await occurrencesOf(bench, id))).toEqual([
      ['2026-03-15', 'failed', null],
      ['2026-04-15', 'skipped', null],
    ]);
    expect(await retrieve(bench, id)).toMatchObject({
      status: 'suspended',
      active: false,
      ended_at: '2026-03-17T00:00:00.000Z',
      next_occurrences_on: [],
    });
    expect(eventKeys(bench)).toEqual(['schedule.create', 'schedule.suspend']);
    bench.sandbox.advance(400 * DAY);
    const { charges } = bench.sandbox.state();
    expect(charges.map(({ status, failure_code }) => [status, failure_code])).toEqual(
      Array.from({ length: 3 }, () => ['failed', 'insufficient_fund']),
    );
  });

  it('that succeeds on a later try continues the schedule', async () => {
    const bench = await open('insufficient_fund');
    const monthly = { every: 1, period: 'month', 'on[days_of_month][]': 15, end_date: '2027-03-10' };
    const { id } = await create(bench, { ...monthly, ...bench.charge });
    bench.sandbox.setNow('2026-03-16T12:00:00Z');
    bench.sandbox.setCard(bench.card, null);
    bench.sandbox.advance(DAY);
    const [first] = await occurrencesOf(bench, id);
    expect(first).toMatchObject({ status: 'successful', processed_at: '2026-03-17T00:00:00.000Z', message: null });
    expect(await retrieve(bench, id)).toMatchObject({ status: 'active' });
    bench.sandbox.setNow('2026-04-15T12:00:00Z');
    expect(bench.sandbox.state().charges.map(({ status }) => status)).toEqual([
      'failed',
      'failed',
      'successful',
      'successful',
    ]);
  });

  it('of each day runs while an earlier one is retried', async () => {
    const bench = await open('payment_rejected');
    const { id } = await create(bench, { ...DAILY, ...bench.charge, start_date: '2026-03-11' });
    bench.sandbox.advance(3 * DAY);
    expect(shortly(await occurrencesOf(bench, id))).toEqual([
      ['2026-03-11', 'failed', null],
      ['2026-03-12', 'failed', null],
      ['2026-03-13', 'skipped', null],
      ['2026-03-14', 'skipped', null],
    ]);
    expect(await retrieve(bench, id)).toMatchObject({ status: 'suspended' });
  });

  it('fails without a charge when the card is deleted, and with a charge when the card has expired', async () => {
    const bench = await open();
    const { id } = await create(bench, { ...DAILY, ...bench.charge, start_date: '2026-03-11' });
    await bench.call('PATCH', `/customers/${bench.customer}/cards/${bench.card}`, {
      form: { expiration_month: 2, expiration_year: 2026 },
    });
    bench.sandbox.advance(DAY);
    const [expired] = await occurrencesOf(bench, id);
    expect(expired).toMatchObject({ status: 'failed', result: expect.stringMatching(/^chrg_/) });
    await bench.call('DELETE', `/customers/${bench.customer}/cards/${bench.card}`);
    bench.sandbox.advance(DAY);
    const [gone] = await occurrencesOf(bench, id);
    expect(gone).toMatchObject({ status: 'failed', result: null, message: 'The customer no longer has the card.' });
  });

  it('of a transfer moves the transferable balance, sends each event, and is skipped when the balance is 0', async () => {
    const bench = await open();
    await create(bench, { ...DAILY, ...bench.charge, start_date: '2026-03-11', end_date: '2026-03-12' });
    const percentage = { ...DAILY, 'transfer[percentage_of_balance]': 50, start_date: '2026-03-17' };
    const { id } = await create(bench, percentage);
    bench.sandbox.setNow('2026-03-19T12:00:00Z');
    const occurrences = await occurrencesOf(bench, id);
    expect(occurrences.map(({ scheduled_on, status }) => [scheduled_on, status])).toEqual([
      ['2026-03-17', 'skipped'],
      ['2026-03-18', 'successful'],
      ['2026-03-19', 'successful'],
      ['2026-03-20', 'scheduled'],
    ]);
    const { transfers, transactions, events } = bench.sandbox.state();
    // Half of the first payment; then half of the other half and the second payment.
    const [first, second] = [73_676, Math.floor((147_352 - 73_676 + 147_352) / 2)];
    expect(transfers).toMatchObject([
      { id: occurrences[1]?.result, amount: first, sent: true, paid: true, schedule: id },
      { id: occurrences[2]?.result, amount: second, sent: true, paid: false },
    ]);
    expect((await bench.call('GET', transfers[0]?.location ?? '')).body).toEqual(transfers[0]);
    expect((await bench.call('GET', '/transfers/x')).status).toBe(404);
    expect(transactions.filter(({ direction }) => direction === 'debit')).toMatchObject([
      { amount: first, key: 'transfer.create', origin: transfers[0]?.id },
      { amount: second },
    ]);
    const keys = events.map(({ key }) => key).filter((key) => key.startsWith('transfer.'));
    expect(keys.slice(0, 3)).toEqual(['transfer.create', 'transfer.send', 'transfer.pay']);
  });

  it('of a fixed transfer fails while the balance is too low', async () => {
    const bench = await open();
    const { id } = await create(bench, { ...DAILY, 'transfer[amount]': 1 });
    bench.sandbox.advance(1);
    expect(await occurrencesOf(bench, id)).toMatchObject([
      { status: 'failed', retry_on: '2026-03-11', message: 'The balance is too low.', result: null },
      {},
    ]);
    expect(bench.sandbox.state().transactions).toEqual([]);
  });
});

describe('the end of a schedule', () => {
  it('is announced when one occurrence is left, and comes on the day after end_date', async () => {
    const bench = await open();
    const form = { ...DAILY, ...bench.charge, start_date: '2026-03-11', end_date: '2026-03-13' };
    const { id } = await create(bench, form);
    bench.sandbox.advance(DAY);
    expect(await retrieve(bench, id)).toMatchObject({ status: 'active' });
    bench.sandbox.advance(DAY);
    expect(await retrieve(bench, id)).toMatchObject({ status: 'expiring', active: true });
    bench.sandbox.advance(DAY);
    expect(await retrieve(bench, id)).toMatchObject({ status: 'expiring', next_occurrences_on: [] });
    bench.sandbox.advance(DAY);
    const ended = { status: 'expired', active: false, deleted: false, ended_at: '2026-03-14T00:00:00.000Z' };
    expect(await retrieve(bench, id)).toMatchObject(ended);
    expect(eventKeys(bench)).toEqual(['schedule.create', 'schedule.expiring', 'schedule.expire']);
    expect(await bench.call('DELETE', `/schedules/${id}`)).toMatchObject({ status: 400 });
  });

  it('waits for the last try of its last occurrence', async () => {
    const bench = await open('payment_rejected');
    const { id } = await create(bench, { ...DAILY, ...bench.charge, end_date: '2026-03-10' });
    bench.sandbox.setNow('2026-03-11T12:00:00Z');
    bench.sandbox.setCard(bench.card, null);
    expect(await retrieve(bench, id)).toMatchObject({ active: true });
    bench.sandbox.setNow('2026-03-12T00:00:00Z');
    expect(await retrieve(bench, id)).toMatchObject({ status: 'expired', ended_at: '2026-03-12T00:00:00.000Z' });
  });

  it('by deletion skips the remaining occurrences, sends one event, and can be repeated', async () => {
    const bench = await open();
    const { id } = await create(bench, { ...DAILY, ...bench.charge });
    bench.sandbox.advance(1);
    const { status, body } = await bench.call<ScheduleJson>('DELETE', `/schedules/${id}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: 'deleted', deleted: true, active: false, next_occurrences_on: [] });
    expect((await bench.call<ScheduleJson>('DELETE', `/schedules/${id}`)).body).toEqual(body);
    expect(eventKeys(bench)).toEqual(['schedule.create', 'schedule.destroy']);
    expect(shortly(await occurrencesOf(bench, id))).toEqual([
      ['2026-03-10', 'successful', null],
      ['2026-03-11', 'skipped', null],
    ]);
    bench.sandbox.advance(30 * DAY);
    expect(bench.sandbox.state().charges).toHaveLength(1);
    expect(await retrieve(bench, id)).toMatchObject({ status: 'deleted', ended_at: body.ended_at });
  });

  it('does not change the occurrences in earlier events', async () => {
    const bench = await open();
    const schedule = await create(bench, { ...DAILY, ...bench.charge });
    bench.sandbox.advance(5 * DAY);
    const { events } = bench.sandbox.state();
    expect(events.find(({ key }) => key === 'schedule.create')?.data).toEqual(schedule);
  });

  it('does not come after a reset', async () => {
    const bench = await open();
    await create(bench, { ...DAILY, ...bench.charge });
    bench.sandbox.reset();
    bench.sandbox.advance(30 * DAY);
    expect(bench.sandbox.state()).toMatchObject({ schedules: [], charges: [], customers: [] });
  });
});

describe('a year', () => {
  it('of many schedules runs every one of them on each of its days', async () => {
    const bench = await open();
    const weekly = { every: 1, period: 'week', 'on[weekdays][]': 'friday', end_date: '2027-03-10' };
    for (let i = 0; i < 40; i += 1) await create(bench, { ...weekly, ...bench.charge });
    await create(bench, { ...DAILY, ...bench.charge, end_date: '2027-03-10' });
    bench.sandbox.advance(370 * DAY);
    const { charges, schedules, receipts, occurrences } = bench.sandbox.state();
    expect(charges).toHaveLength(40 * 52 + 366);
    expect(new Set(schedules.map(({ status }) => status))).toEqual(new Set(['expired']));
    expect(occurrences.every(({ status }) => status === 'successful')).toBe(true);
    expect(receipts).toHaveLength(12);
  });
});
