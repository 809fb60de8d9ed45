import { businessDay, businessDayOf, instant } from '@tillflow/domain';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DayReport } from '@tillflow/temporal';
import { eventually } from './support/eventually.js';
import { Reconciliations } from './support/reconciliations.js';
import { chargeIdOf, KEYS, Stack, type Answer, type CheckoutJson, type ProblemJson } from './support/stack.js';
import { operatorOf, tillflow } from './support/tillflow.js';

/** The sum over all tills of a currency. */
const sumOf = (report: DayReport, currency: string, of: (row: DayReport['totals'][number]) => number): number =>
  report.totals.filter((row) => row.currency === currency).reduce((sum, row) => sum + of(row), 0);

const HOUR_MS = 3_600_000;
/** A day in Bangkok that began about twelve hours ago, so that no test runs over its end. */
const START = new Date(Date.now() + (7 + 12) * HOUR_MS).toISOString().slice(11, 16);
const BANGKOK = { BUSINESS_TIMEZONE: 'Asia/Bangkok', BUSINESS_DAY_START: START };
const RULE = { timeZone: BANGKOK.BUSINESS_TIMEZONE, start: START };

describe('the report of a business day', () => {
  let stack: Stack;
  const today = businessDayOf(instant(Date.now()), RULE);
  const yesterday = businessDayOf(instant(today.from - 12 * HOUR_MS), RULE);
  let voided: CheckoutJson;

  const report = (date: string, query = ''): Promise<Answer<DayReport>> =>
    stack.request<DayReport>('GET', `/v1/day-reports/${date}${query}`, { key: KEYS.ops });
  const rows = ({ body }: Answer<DayReport>): string[] =>
    body.totals.map(
      ({ currency, store, terminal, sales, refunds, voids }) =>
        `${currency} ${store} ${terminal}: ${sales.count} ${sales.amount}, ${refunds.amount}, ${voids.amount}`,
    );

  async function pay(fields: Readonly<Record<string, unknown>>): Promise<CheckoutJson> {
    const { body } = await stack.begin(fields);
    const open = await stack.until(body.id, ({ qr }) => qr !== null);
    stack.sandbox.mark(chargeIdOf(open), { status: 'successful' });
    return stack.untilStatus(body.id, 'paid');
  }

  async function refund({ id }: CheckoutJson, amount?: number): Promise<void> {
    const headers = { 'idempotency-key': 'back' };
    await eventually(async () => {
      const { status } = await stack.request('POST', `/v1/checkouts/${id}/refunds`, {
        body: amount === undefined ? {} : { amount },
        headers,
      });
      expect([200, 201]).toContain(status);
    });
  }

  beforeAll(async () => {
    // The provider's clock is more than a day behind: the payments are old enough to be reconciled. Tillflow does not
    // believe that they were made a day before their checkouts, so its own records have them today.
    stack = await Stack.start({
      shared: BANGKOK,
      sandbox: { now: new Date(yesterday.from + 11.8 * HOUR_MS).toISOString() },
    });
    const north = { store: { id: 'north' }, terminal: 'till-1' };
    const [, partly] = await Promise.all([
      pay(north),
      pay({ ...north, terminal: '=till' }),
      pay({ ...north, amount: 5_000, currency: 'SGD' }),
      pay({ store: { id: 'south' } }),
      pay({}),
    ]);
    voided = await pay({ store: { id: 'south' }, amount: 70_000 });
    await refund(partly, 20_000);
    await refund(voided);
  });
  afterAll(() => stack.stop());

  const EXPECTED = [
    'SGD north till-1: 1 5000, 0, 0',
    'THB north =till: 1 150000, 20000, 0',
    'THB north till-1: 1 150000, 0, 0',
    'THB south null: 2 220000, 0, 70000',
    'THB null null: 1 150000, 0, 0',
  ];

  it('is open while the day runs, and shows the payments and refunds that Tillflow knows', async () => {
    // A search shows a payment a moment after it.
    const answer = await eventually(async () => {
      const shown = await report(today.date);
      expect(rows(shown)).toEqual(EXPECTED);
      return shown;
    });
    expect(answer).toMatchObject({
      status: 200,
      body: {
        date: today.date,
        from: new Date(today.from).toISOString(),
        to: new Date(today.to).toISOString(),
        state: 'open',
        reconciliation_id: null,
        breaks: [],
      },
    });
    for (const { sales, refunds, voids, fees, net } of answer.body.totals) {
      expect(fees).toBeGreaterThan(0);
      expect(net).toBe(sales.amount - refunds.amount - voids.amount - (fees ?? 0));
    }
  });

  it('is provisional when the day is over and not reconciled', async () => {
    expect((await report(yesterday.date)).body).toMatchObject({ state: 'provisional', totals: [] });
  });

  it('has only the store or the till of the request', async () => {
    expect((await report(today.date, '?store=south')).body.totals).toMatchObject([{ store: 'south', terminal: null }]);
    const till = await report(today.date, '?store=north&terminal=%3Dtill');
    expect(till.body.totals).toMatchObject([{ terminal: '=till', sales: { count: 1 } }]);
  });

  describe('after the daily reconciliation', () => {
    beforeAll(async () => {
      const { workflow } = stack.temporal.client;
      const options = { taskQueue: stack.taskQueue, workflowId: `reconcile-daily@${stack.taskQueue}-now`, args: [] };
      await workflow.execute('reconcile', options);
      // A search finds the run a moment later.
      await eventually(async () => {
        const { state } = (await report(yesterday.date)).body;
        if (state !== 'final') throw new Error(`Still ${state}`);
      });
    });

    it('is final, and the sums of its tills equal the totals of the reconciliation', async () => {
      const answer = await report(yesterday.date);
      expect(rows(answer)).toEqual(EXPECTED);
      const { body } = answer;
      const run = await new Reconciliations(stack).get(body.reconciliation_id ?? '');
      expect(run).toMatchObject({ from: body.from, to: body.to, breaks: [] });
      for (const total of run.totals) {
        const { currency } = total;
        const returned = run.returned.find((one) => one.currency === currency) ?? { amount: 0, fees: 0 };
        expect({
          charges: sumOf(body, currency, ({ sales }) => sales.count),
          paid_here: sumOf(body, currency, ({ sales }) => sales.amount),
          refunded_here: sumOf(body, currency, ({ refunds, voids }) => refunds.amount + voids.amount),
          fees: sumOf(body, currency, ({ fees }) => fees ?? Number.NaN),
          net: sumOf(body, currency, ({ net }) => net ?? Number.NaN),
        }).toEqual({
          charges: total.charges,
          paid_here: total.paid_there,
          refunded_here: returned.amount,
          fees: total.fees - returned.fees,
          net: sumOf(body, currency, ({ settlements }) => settlements.reduce((sum, { amount }) => sum + amount, 0)),
        });
      }
      const thb = run.totals.find(({ currency }) => currency === 'THB');
      expect(thb).toMatchObject({ refunded_there: 90_000, refunded_here: 90_000 });
      expect(run.returned).toEqual([{ currency: 'THB', amount: 90_000, fees: expect.any(Number) }]);
      expect(run.returned[0]?.fees).toBeGreaterThan(0);
    });

    it('is a table for spreadsheets, too', async () => {
      const headers = { accept: 'text/csv' };
      const path = `/v1/day-reports/${yesterday.date}?store=north`;
      const answer = await stack.request<string>('GET', path, { key: KEYS.ops, headers });
      expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
      const lines = answer.body.split('\r\n');
      expect(lines[0]).toMatch(/^record,date,state,currency,store,terminal,sales_count,/);
      expect(lines).toContainEqual(
        expect.stringMatching(`^total,${yesterday.date},final,THB,north,'=till,1,150000,1,20000,0,0,`),
      );
      expect(lines.filter((line) => line.startsWith('settlement,')).length).toBeGreaterThan(0);
    });

    it('is shown by tillflow day', async () => {
      const ended = await tillflow(['day', yesterday.date], operatorOf(stack));
      expect(ended.code).toBe(0);
      expect(ended.out).toContain(`${yesterday.date}: final`);
      expect(ended.out).toMatch(/^south +- +2 +THB 2,200\.00 +0 +THB 0\.00 +1 +THB 700\.00/m);
      const asCsv = await tillflow(['day', yesterday.date, '--store', 'south', '--csv'], operatorOf(stack));
      expect(asCsv.out.split('\n')[1]).toMatch(new RegExp(`^total,${yesterday.date},final,THB,south,,2,220000,`));
    });

    it('has the breaks of the day', async () => {
      // A later reconciliation of the same day, after the payment was lost here.
      const response = await fetch(`${stack.sandboxUrl}/charges`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${stack.sandbox.keys.secret}:`)}` },
        body: new URLSearchParams({
          amount: '150000',
          currency: 'THB',
          'source[type]': 'wallet_mpm',
          'metadata[checkout]': 'chk_default_lost',
        }),
      });
      const { id } = (await response.json()) as { id: string };
      stack.sandbox.mark(id, { status: 'successful' });
      const window = { from: new Date(yesterday.from).toISOString(), to: new Date(yesterday.to).toISOString() };
      const reconciliations = new Reconciliations(stack);
      const run = await reconciliations.completed(await reconciliations.start(window));
      expect(run.breaks).toHaveLength(1);
      await expect
        .poll(async () => (await report(yesterday.date)).body)
        .toMatchObject({ reconciliation_id: run.id, breaks: run.breaks });
      expect(await tillflow(['day', yesterday.date], operatorOf(stack))).toMatchObject({ code: 1 });
    });
  });

  it.each([
    ['today', 'a word'],
    ['2026-2-3', 'short numbers'],
    ['2026-02-30', 'no date of the calendar'],
    ['2026-11-20T00:00:00Z', 'a time'],
    ['2026-11-20%27', 'a quote'],
  ])('for %s (%s) is refused with 400', async (date) => {
    const answer = await stack.request<ProblemJson>('GET', `/v1/day-reports/${date}`, { key: KEYS.ops });
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request', errors: [{ path: 'date' }] } });
    expect(await tillflow(['day', decodeURIComponent(date)], operatorOf(stack))).toMatchObject({ code: 2 });
  });

  it.each(['0164-04-02', '1969-12-31', '9999-12-31'])('there is none of %s', async (date) => {
    const answer = await stack.request<ProblemJson>('GET', `/v1/day-reports/${date}`, { key: KEYS.ops });
    expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } });
    expect(await tillflow(['day', date], operatorOf(stack))).toMatchObject({ code: 2 });
  });

  it('there is none of tomorrow yet', async () => {
    const { date } = businessDay(businessDayOf(today.to, RULE).date, RULE);
    const answer = await stack.request<ProblemJson>('GET', `/v1/day-reports/${date}`, { key: KEYS.ops });
    const detail = `${date} has not begun: it begins at ${new Date(today.to).toISOString()}`;
    expect(answer).toMatchObject({ status: 404, body: { code: 'not_found', detail } });
    expect(await tillflow(['day', date], operatorOf(stack))).toMatchObject({ code: 2 });
  });

  it.each([
    ['?till=1'],
    ['?store='],
    [`?store=${'a'.repeat(65)}`],
    ['?store=a b'],
    ['?terminal='],
    ['?store=a&store=b'],
  ])('with the query %s is refused with 400', async (query) => {
    expect(await report(yesterday.date, query)).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
  });

  it('is refused with 403 for a till, and with 401 without a key', async () => {
    const path = `/v1/day-reports/${yesterday.date}`;
    expect(await stack.request('GET', path)).toMatchObject({ status: 403 });
    expect(await stack.request('GET', path, { key: null })).toMatchObject({ status: 401 });
  });
});
