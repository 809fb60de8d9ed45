import { expect, test } from 'vitest';
import { clientOf, provider, refuse, reply, reset } from '../../../test/provider.js';
import { CHARGE_SCHEDULE } from '../../../test/samples.js';

const params = {
  every: 1,
  period: 'day',
  end_date: '2026-06-09',
  charge: { amount: 1, currency: 'THB', customer: 'c' },
};

test('create sends the rule, the days and the charge', async () => {
  const fake = await provider(reply(200, { object: 'schedule', id: 'schd_test_1' }));
  await clientOf(fake).schedules.create({
    every: 2,
    period: 'week',
    on: { weekdays: ['monday', 'friday'] },
    start_date: new Date('2025-06-09T23:59:59Z'),
    end_date: '2026-06-09',
    charge: { amount: 150_000, currency: 'THB', customer: 'cust_test_1', metadata: { flat: 7 } },
  });
  expect([...new URLSearchParams(fake.seen[0]?.body)]).toEqual([
    ['every', '2'],
    ['period', 'week'],
    ['on[weekdays][]', 'monday'],
    ['on[weekdays][]', 'friday'],
    ['start_date', '2025-06-09'],
    ['end_date', '2026-06-09'],
    ['charge[amount]', '150000'],
    ['charge[currency]', 'THB'],
    ['charge[customer]', 'cust_test_1'],
    ['charge[metadata][flat]', '7'],
  ]);
});

test('create is unknown and not repeated when its answer is lost: a second schedule would charge twice for ever', async () => {
  const fake = await provider(reset);
  const call = clientOf(fake).schedules.create(params);
  await expect(call).rejects.toMatchObject({ code: 'connection_lost', outcome: 'unknown', retryable: false });
  expect(fake.seen).toHaveLength(1);
});

test('destroy stays unknown when its answer is lost and the retry finds no schedule', async () => {
  const fake = await provider(reset, refuse(404, 'not_found'));
  const call = clientOf(fake).schedules.destroy('schd_test_1');
  await expect(call).rejects.toMatchObject({ code: 'not_found', status: 404, outcome: 'unknown' });
  expect(fake.seen).toHaveLength(2);
});

test('destroy accepts a reply with few fields', async () => {
  const rest = { object: 'schedule', id: 'schd_test_1', livemode: false, deleted: true };
  const fake = await provider(reply(200, rest));
  expect(await clientOf(fake).schedules.destroy('schd_test_1')).toEqual(rest);
});

test.each([
  { charge: { amount: 1.5 } },
  { charge: { amount: '150000' } },
  { transfer: { percentage_of_balance: '75' } },
  { every: 'one' },
  { on: { days_of_month: ['1'] } },
])('retrieve refuses a schedule with %j', async (fields) => {
  const fake = await provider(reply(200, { ...CHARGE_SCHEDULE, ...fields }));
  const call = clientOf(fake).schedules.retrieve('schd_test_1');
  await expect(call).rejects.toMatchObject({ code: 'unexpected_response' });
});
