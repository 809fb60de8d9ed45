import type { Json, JsonObject } from './kinds.js';
import type { Form } from './provider.js';
import { expectEvent } from './record-rows.js';
import { expect, expectRefusal, type Row } from './row.js';
import { idIn, recordsIn, textIn, type Samples } from './samples.js';

const rule = (fact: string, shows: Row['shows']): Row => ({ fact, shows });
const DAY_SECONDS = 86_400;

/**
 * The days of a rule, read from a calendar by hand: 1 January 2071 is a Thursday.
 * Source: assumption, "Schedules and occurrences".
 */
const CALENDAR: readonly { readonly says: string; readonly form: Form; readonly days: readonly string[] }[] = [
  {
    says: 'every 2 days',
    form: { every: 2, period: 'day' },
    days: ['2071-01-01', '2071-01-03', '2071-01-05'],
  },
  {
    says: 'every week on Monday',
    form: { every: 1, period: 'week', 'on[weekdays][]': 'monday' },
    days: ['2071-01-05', '2071-01-12', '2071-01-19'],
  },
  {
    says: 'every month on the 28th',
    form: { every: 1, period: 'month', 'on[days_of_month][]': 28 },
    days: ['2071-01-28', '2071-02-28', '2071-03-28'],
  },
  {
    says: 'every 3 months on the 1st',
    form: { every: 3, period: 'month', 'on[days_of_month][]': 1 },
    days: ['2071-01-01', '2071-04-01', '2071-07-01'],
  },
  {
    says: 'every month on the last Friday',
    form: { every: 1, period: 'month', 'on[weekday_of_month]': 'last_friday' },
    days: ['2071-01-30', '2071-02-27', '2071-03-27'],
  },
  {
    says: 'every month on the first Tuesday',
    form: { every: 1, period: 'month', 'on[weekday_of_month]': '1st_tuesday' },
    days: ['2071-01-06', '2071-02-03', '2071-03-03'],
  },
];

async function create(samples: Samples, form: Form): Promise<JsonObject> {
  const work = await samples.scheduledCharge();
  return await samples.provider.record('POST', '/schedules', { form: { ...work, ...form } });
}

async function occurrences(samples: Samples, id: string): Promise<readonly JsonObject[]> {
  return recordsIn(await samples.provider.record('GET', `/schedules/${id}/occurrences`, { query: { limit: 100 } }));
}

async function ids({ provider }: Samples, path: string): Promise<(Json | undefined)[]> {
  const query = { order: 'reverse_chronological', limit: 100 };
  return recordsIn(await provider.record('GET', path, { query })).map(({ id }) => id);
}

const refused = (fact: string, form: Form, omit: 'charge' | null = null): Row =>
  rule(fact, async (samples) => {
    const work = omit === 'charge' ? {} : await samples.scheduledCharge();
    expectRefusal(
      await samples.provider.call('POST', '/schedules', { form: { ...work, ...form } }),
      400,
      'bad_request',
    );
  });

const ENDS: Form = { end_date: '2099-12-31' };
const DAILY: Form = { every: 1, period: 'day', ...ENDS };

const INPUT_ROWS: readonly Row[] = [
  ...CALENDAR.map(({ says, form, days }) =>
    rule(`a schedule may run ${says}: ${days.join(', ')}`, async (samples) => {
      const schedule = await create(samples, { ...form, start_date: '2071-01-01', end_date: '2099-12-31' });
      expect((schedule['next_occurrences_on'] as readonly string[]).slice(0, 3)).toEqual(days);
      await samples.provider.record('DELETE', `/schedules/${idIn(schedule)}`);
    }),
  ),
  rule('a schedule shows at most 30 next_occurrences_on', async (samples) =>
    expect((await samples.get('charge schedule'))['next_occurrences_on']).toHaveLength(30),
  ),
  rule('a schedule shows no occurrence after its end_date', async (samples) => {
    const form = { every: 1, period: 'day', start_date: '2071-01-01', end_date: '2071-01-02' };
    const schedule = await create(samples, form);
    expect(schedule).toMatchObject({ next_occurrences_on: ['2071-01-01', '2071-01-02'], end_on: '2071-01-02' });
    await samples.provider.record('DELETE', `/schedules/${idIn(schedule)}`);
  }),
  refused('a schedule by week without on is 400', { every: 1, period: 'week', ...ENDS }),
  refused('a schedule by month without on is 400', { every: 1, period: 'month', ...ENDS }),
  refused('a schedule by another period is 400', { every: 1, period: 'year', ...ENDS }),
  refused('a schedule every 0 days is 400', { every: 0, period: 'day', ...ENDS }),
  refused('a schedule on an unknown weekday is 400', {
    every: 1,
    period: 'week',
    'on[weekdays][]': 'someday',
    ...ENDS,
  }),
  refused('a schedule on day 32 of the month is 400', {
    every: 1,
    period: 'month',
    'on[days_of_month][]': 32,
    ...ENDS,
  }),
  refused('a schedule on the 6th Friday of the month is 400', {
    every: 1,
    period: 'month',
    'on[weekday_of_month]': '6th_friday',
    ...ENDS,
  }),
  refused('a schedule that ends before it begins is 400', {
    ...DAILY,
    start_date: '2071-01-02',
    end_date: '2071-01-01',
  }),
  refused('a schedule of neither a charge nor a transfer is 400', DAILY, 'charge'),
  rule('a schedule of an unknown customer is refused', async ({ provider }) => {
    const form = {
      ...DAILY,
      'charge[customer]': 'cust_test_0000000000000000000',
      'charge[amount]': 150_000,
      'charge[currency]': 'THB',
    };
    expect([400, 404]).toContain((await provider.call('POST', '/schedules', { form })).status);
  }),
];

const LIST_ROWS: readonly Row[] = [
  rule(
    'a schedule of charges is in /schedules and /charges/schedules, not in /transfers/schedules',
    async (samples) => {
      const id = await samples.id('charge schedule');
      expect(await ids(samples, '/schedules')).toContain(id);
      expect(await ids(samples, '/charges/schedules')).toContain(id);
      expect(await ids(samples, '/transfers/schedules')).not.toContain(id);
    },
  ),
  rule(
    'a schedule of transfers is in /schedules and /transfers/schedules, not in /charges/schedules',
    async (samples) => {
      const id = await samples.id('transfer schedule');
      expect(await ids(samples, '/schedules')).toContain(id);
      expect(await ids(samples, '/transfers/schedules')).toContain(id);
      expect(await ids(samples, '/charges/schedules')).not.toContain(id);
    },
  ),
  ...(
    [
      ['status', 'deleted', (schedule: JsonObject) => schedule['status'] === 'deleted'],
      ['active', true, (schedule: JsonObject) => schedule['active'] === true],
      ['amount', 150_000, ({ charge }: JsonObject) => (charge as JsonObject)['amount'] === 150_000],
    ] as const
  ).map(([filter, value, fits]) =>
    rule(`the search by filters[${filter}]=${value} finds only such schedules`, async (samples) => {
      await samples.get('deleted schedule');
      await samples.get('charge schedule');
      const query = { [`filters[${filter}]`]: value };
      const found = recordsIn(await samples.provider.record('GET', '/charges/schedules/search', { query }));
      expect(found).not.toEqual([]);
      expect(found.every(fits)).toBe(true);
    }),
  ),
  rule('the search by an amount that no schedule has finds none', async ({ provider }) =>
    expect(
      await provider.record('GET', '/charges/schedules/search', { query: { 'filters[amount]': 149_999 } }),
    ).toMatchObject({ total: 0, total_pages: 0, data: [] }),
  ),
  rule('the search by the last digits of the card finds the schedule', async (samples) => {
    const digits = textIn(await samples.defaultCard(), 'last_digits');
    const query = { 'filters[card_last_digits]': digits };
    const found = recordsIn(await samples.provider.record('GET', '/charges/schedules/search', { query }));
    expect(found.map(({ id }) => id)).toContain(await samples.id('charge schedule'));
  }),
];

const LIFE_ROWS: readonly Row[] = [
  rule('a new schedule is active and sends the event schedule.create', async (samples) => {
    const schedule = await samples.newSchedule();
    expect(schedule).toMatchObject({ status: 'active', active: true, deleted: false, ended_at: null });
    await expectEvent(samples, 'schedule.create', idIn(schedule));
    await samples.provider.record('DELETE', `/schedules/${idIn(schedule)}`);
  }),
  rule('a deleted schedule has deleted = true, has ended, and sends the event schedule.destroy', async (samples) => {
    const schedule = await samples.get('deleted schedule');
    expect(schedule).toMatchObject({ status: 'deleted', deleted: true, active: false, next_occurrences_on: [] });
    expect(schedule['ended_at']).not.toBeNull();
    const found = await samples.provider.record('GET', `/schedules/${idIn(schedule)}`);
    expect(found).toMatchObject({ status: 'deleted', deleted: true });
    const again = idIn(await samples.newSchedule());
    await samples.provider.record('DELETE', `/schedules/${again}`);
    await expectEvent(samples, 'schedule.destroy', again);
  }),
  rule('a daily schedule charges the card once a day by the clock', async (samples) => {
    const { provider } = samples;
    await provider.standAt(await provider.middayAfter());
    const day = (days: number): string =>
      new Date(start.getTime() + days * DAY_SECONDS * 1_000).toISOString().slice(0, 10);
    const start = await provider.now();
    const id = idIn(await create(samples, { ...DAILY, start_date: day(1) }));
    await provider.advance(3 * DAY_SECONDS);
    const run = (await occurrences(samples, id)).filter(({ status }) => status === 'successful');
    expect(run.map((occurrence) => occurrence['scheduled_on'])).toEqual([day(1), day(2), day(3)]);
    for (const occurrence of run) {
      expect(await provider.record('GET', `/charges/${textIn(occurrence, 'result')}`)).toMatchObject({
        object: 'charge',
        amount: 150_000,
        currency: 'THB',
        status: 'successful',
        schedule: id,
      });
    }
    await provider.record('DELETE', `/schedules/${id}`);
    await provider.advance(2 * DAY_SECONDS);
    const after = (await occurrences(samples, id)).filter(({ status }) => status === 'successful');
    expect(after).toEqual(run);
  }),
  rule(
    'a failed charge is tried again on each of the next two days, then the schedule is suspended',
    async (samples) => {
      const { provider } = samples;
      await provider.standAt(await provider.middayAfter());
      const start = await provider.now();
      const day = (days: number): string =>
        new Date(start.getTime() + days * DAY_SECONDS * 1_000).toISOString().slice(0, 10);
      const card = await samples.seeded('failing card');
      const schedule = await create(samples, {
        every: 1,
        period: 'month',
        'on[weekday_of_month]': ordinalWeekday(day(1)),
        start_date: day(1),
        end_date: '2099-12-31',
        'charge[card]': card,
      });
      const id = idIn(schedule);
      const tries = async (): Promise<unknown> =>
        (await occurrences(samples, id)).find((occurrence) => occurrence['scheduled_on'] === day(1));
      await provider.advance(DAY_SECONDS);
      expect(await tries()).toMatchObject({ status: 'failed', retry_on: day(2) });
      await provider.advance(DAY_SECONDS);
      expect(await tries()).toMatchObject({ status: 'failed', retry_on: day(3) });
      expect((await provider.record('GET', `/schedules/${id}`))['status']).not.toBe('suspended');
      await provider.advance(DAY_SECONDS);
      expect(await tries()).toMatchObject({ status: 'failed', retry_on: null });
      const suspended = await provider.record('GET', `/schedules/${id}`);
      expect(suspended).toMatchObject({ status: 'suspended', active: false });
      await expectEvent(samples, 'schedule.suspend', id);
    },
  ),
  rule('a schedule expires after its end_date and sends the event schedule.expire', async (samples) => {
    const { provider } = samples;
    await provider.standAt(await provider.middayAfter());
    const start = await provider.now();
    const end = new Date(start.getTime() + 2 * DAY_SECONDS * 1_000).toISOString().slice(0, 10);
    const id = idIn(await create(samples, { ...DAILY, end_date: end }));
    await provider.advance(4 * DAY_SECONDS);
    const expired = await provider.record('GET', `/schedules/${id}`);
    expect(expired).toMatchObject({ status: 'expired', active: false, deleted: false, next_occurrences_on: [] });
    expect(expired['ended_at']).not.toBeNull();
    await expectEvent(samples, 'schedule.expiring', id);
    await expectEvent(samples, 'schedule.expire', id);
  }),
  rule('a scheduled transfer debits the balance', async (samples) => {
    const { provider } = samples;
    await provider.standAt(await provider.middayAfter());
    await samples.newCharge('successful');
    await provider.advance(8 * DAY_SECONDS);
    const start = await provider.now();
    const tomorrow = new Date(start.getTime() + DAY_SECONDS * 1_000).toISOString().slice(0, 10);
    const form = {
      ...DAILY,
      start_date: tomorrow,
      'transfer[recipient]': 'recp_test_0000000000000000001',
      'transfer[currency]': 'THB',
      'transfer[amount]': 100_000,
    };
    const id = idIn(await provider.record('POST', '/schedules', { form }));
    await provider.advance(DAY_SECONDS);
    await provider.record('DELETE', `/schedules/${id}`);
    const [occurrence] = await occurrences(samples, id);
    expect(occurrence).toMatchObject({ status: 'successful', scheduled_on: tomorrow });
    const query = { order: 'reverse_chronological', limit: 100 };
    const transactions = recordsIn(await provider.record('GET', '/transactions', { query }));
    expect(transactions.find(({ origin }) => origin === occurrence?.['result'])).toMatchObject({
      direction: 'debit',
      currency: 'THB',
    });
  }),
];

/** `2nd_tuesday`, for a date: a rule that does not run again within three days. */
function ordinalWeekday(day: string): string {
  const date = new Date(`${day}T00:00:00Z`);
  const weekday = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'][date.getUTCDay()];
  const ordinal = ['1st', '2nd', '3rd', '4th', 'last'][Math.floor((date.getUTCDate() - 1) / 7)];
  return `${ordinal}_${weekday}`;
}

/** Source: API reference, "Schedules"; assumption, "Schedules and occurrences". */
export const SCHEDULE_ROWS: readonly Row[] = [...INPUT_ROWS, ...LIST_ROWS, ...LIFE_ROWS];
