import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Reconciliations, type BreakJson, type ReconciliationJson } from './support/reconciliations.js';
import { chargeIdOf, KEYS, Stack, type Answer, type CheckoutJson } from './support/stack.js';
import { TamperedProvider } from './support/tampered-provider.js';
import { operatorOf, tillflow } from './support/tillflow.js';

let stack: Stack;
let provider: TamperedProvider;
let reconciliations: Reconciliations;

beforeAll(async () => {
  stack = await Stack.start({
    api: { POLL_INTERVAL_MS: '86400000' },
    // The payments of this test are old enough to be compared.
    sandbox: { now: new Date(Date.now() - 3_600_000).toISOString() },
    webhookUrl: null,
    // What Temporal stores is encrypted, as in production.
    shared: { PAYLOAD_KEYS: `a:${randomBytes(32).toString('base64')}` },
    before: async (sandboxUrl) => {
      provider = await TamperedProvider.before(sandboxUrl);
      return provider.url;
    },
  });
  reconciliations = new Reconciliations(stack);
});
afterAll(async () => {
  provider.close();
  await stack.stop();
});

async function paid(): Promise<CheckoutJson> {
  const open = await stack.open();
  stack.sandbox.mark(chargeIdOf(open), { status: 'successful' });
  await stack.workflowOf(open.id).signal('hint', { eventId: 'evnt_test', eventKey: 'charge.complete' });
  return stack.untilStatus(open.id, 'paid');
}

/** The provider states this much more as its fee than its rates give, in the smallest unit. */
const raiseFee = (checkout: CheckoutJson, by: number): void =>
  provider.tamper(chargeIdOf(checkout), (charge) => ({ ...charge, fee: Number(charge['fee']) + by }));

const breakOf = ({ breaks }: ReconciliationJson, { id }: CheckoutJson): BreakJson => {
  const found = breaks.find(({ checkout_id }) => checkout_id === id);
  if (found === undefined) throw new Error(`No break of ${id}`);
  return found;
};

const acknowledge = (id: string, n: number | string, body: unknown): Promise<Answer<BreakJson>> =>
  stack.request<BreakJson>('POST', `/v1/reconciliations/${id}/breaks/${n}/acknowledge`, { body, key: KEYS.ops });

const operate = (...args: readonly string[]) => tillflow(args, operatorOf(stack));

/** The list of acknowledgements is a moment behind. */
const untilAcknowledged = (id: string, count: number): Promise<void> =>
  expect.poll(async () => (await reconciliations.get(id)).acknowledged_count).toBe(count);

describe('an acknowledged break', { timeout: 300_000 }, () => {
  it('stays apart in later reconciliations, until one of its amounts changes', async () => {
    const [known, other] = [await paid(), await paid()];
    raiseFee(known, 500);
    raiseFee(other, 500);
    const first = await reconciliations.run();
    const { n } = breakOf(first, known);
    const answer = await acknowledge(first.id, n, { reason: 'The provider corrects it next month' });
    const acknowledged = { by: 'ops', at: expect.any(String), reason: 'The provider corrects it next month' };
    expect(answer).toMatchObject({ status: 200, body: { n, checkout_id: known.id, acknowledged } });
    // The first acknowledgement stays.
    const again = await acknowledge(first.id, n, { reason: 'Another one' });
    expect(again).toMatchObject({ status: 200, body: answer.body });
    await untilAcknowledged(first.id, 1);

    const second = await reconciliations.run();
    expect(second.acknowledged_count).toBe(1);
    expect(breakOf(second, known).acknowledged).toEqual(answer.body.acknowledged);
    expect(breakOf(second, other).acknowledged).toBeNull();
    const listed = (await reconciliations.list()).find(({ id }) => id === second.id);
    expect(listed).toMatchObject({ breaks_count: 2, acknowledged_count: 1 });
    const { body: csv } = await reconciliations.export(second.id, 'csv');
    expect(csv).toContain(',ops,');
    expect(csv).toContain(',The provider corrects it next month\r\n');

    raiseFee(known, 600);
    const third = await reconciliations.run();
    expect(breakOf(third, known).acknowledged).toBeNull();
    expect(third.acknowledged_count).toBe(0);
    raiseFee(known, 500);
    expect(breakOf(await reconciliations.run(), known).acknowledged).toEqual(answer.body.acknowledged);
  });

  it('no longer makes `tillflow breaks` and `tillflow reconcile` end with 1, and names who acknowledged it and why', async () => {
    const { id, breaks } = await reconciliations.run();
    const open = breaks.filter(({ acknowledged }) => acknowledged === null);
    expect(open).not.toEqual([]);
    const list = await operate('breaks');
    expect(list.code).toBe(1);
    expect(list.out).toContain(`${id}: `);
    for (const { n, checkout_id } of open)
      expect(list.out).toMatch(new RegExp(`^${n} +fee_difference +${checkout_id}`, 'm'));

    const [one] = open;
    const named = ['breaks', '--reconciliation', id, '--acknowledge', String(one?.n), '--reason', 'known'];
    expect(await operate(...named, '--dry-run')).toMatchObject({ code: 0, out: expect.stringMatching(/^would/) });
    expect((await reconciliations.get(id)).acknowledged_count).toBe(breaks.length - open.length);
    for (const { n } of open) {
      const done = await operate('breaks', '--reconciliation', id, '--acknowledge', String(n), '--reason', 'known');
      expect(done).toMatchObject({ code: 0, out: expect.stringMatching(/^acknowledged: fee_difference/) });
    }
    await untilAcknowledged(id, breaks.length);
    expect(await operate(...named)).toMatchObject({ code: 0 });
    expect(await operate('breaks')).toEqual({ code: 0, out: 'No break is open.\n', err: '' });
    const shown = await operate('breaks', '--reconciliation', id);
    expect(shown.code).toBe(0);
    expect(shown.out).toMatch(new RegExp(`^${one?.n} +fee_difference +${one?.checkout_id} +cli:\\S+ .* known$`, 'm'));
    const window = reconciliations.body();
    const compared = await operate('reconcile', '--from', window.from, '--to', window.to);
    expect(compared).toMatchObject({ code: 0, out: expect.stringContaining('ACKNOWLEDGED BY') });
  });

  it('is kept by a workflow that runs longer than any retention, and without a worker', async () => {
    const checkout = await paid();
    raiseFee(checkout, 700);
    const run = await reconciliations.run();
    await stack.stopWorker();
    try {
      const { status } = await acknowledge(run.id, breakOf(run, checkout).n, { reason: 'known' });
      expect(status).toBe(200);
      const query = `WorkflowType = 'acknowledgement' AND ExecutionStatus = 'Running' AND TaskQueue = '${stack.taskQueue}'`;
      const count = async () => (await stack.temporal.client.workflow.count(query)).count;
      await expect.poll(count).toBeGreaterThanOrEqual(1);
      await expect
        .poll(async () => breakOf(await reconciliations.get(run.id), checkout).acknowledged)
        .toMatchObject({ by: 'ops' });
    } finally {
      await stack.startWorker();
    }
  });

  it.each([
    ['an unknown reconciliation', 'rec_1-2_01a1fdd5-c8b3-7d0e-b138-1622b2e958f9', '1', 404, 'not_found'],
    ['an id that is none', 'nonsense', '1', 404, 'not_found'],
    ['a number that no break has', null, '1000', 404, 'not_found'],
    ['the number 0', null, '0', 404, 'not_found'],
    ['a number that is none', null, 'one', 404, 'not_found'],
    ['a number that is too long', null, '1'.repeat(11), 400, 'invalid_request'],
  ])('is refused for %s', async (_, id, n, status, code) => {
    const run = id ?? (await reconciliations.run()).id;
    expect(await acknowledge(run, n, { reason: 'known' })).toMatchObject({ status, body: { code } });
  });
});

it('a refund made outside names who made it at the provider', { timeout: 300_000 }, async () => {
  const checkout = await paid();
  await stack.refundElsewhere(chargeIdOf(checkout), 20_000);
  const found = breakOf(await reconciliations.run(), checkout);
  expect(found).toMatchObject({ type: 'refund_made_outside', healed: true });
  const event = stack.sandbox.state().events.find(({ key }) => key === 'refund.create');
  const { actor_uid, user_uid, team_uid } = event ?? {};
  expect(found.made_by).toEqual({ actor_uid, user_uid, team_uid });
  expect(actor_uid).toMatch(/^user_/);
});

it('an invoice and the credit note that takes it back are no break', { timeout: 300_000 }, async () => {
  const invoice = { charge_fee: 12_345, vat: 864 };
  stack.sandbox.seedRecords({
    receipts: [invoice, { ...invoice, credit_note: true }, { currency: 'SGD', ...invoice }],
  });
  const { breaks } = await reconciliations.run();
  const receipts = breaks.filter(({ type }) => type === 'receipt_total');
  expect(receipts.map(({ actual }) => actual)).toEqual([{ status: null, amount: 13_209, currency: 'SGD' }]);
});
