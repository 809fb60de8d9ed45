import { RestartableTemporal } from '@tillflow/tools';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiProcess } from './support/api-process.js';
import { expectRecords } from './support/records.js';
import { FULL } from './support/full.js';
import { callUnder, expectRightEnd, FAST, MONEY_CALLS, type MoneyCall } from './support/money-calls.js';
import { chargeIdOf, Stack } from './support/stack.js';

const ENOUGH_MS = 300_000;

/** A checkout that waits for its customer, or whose customer has paid. */
const [open, paid] = [MONEY_CALLS[2], MONEY_CALLS[3]].map(
  (call) => call?.prepare ?? (() => Promise.reject(new Error())),
);

/** Their callers wait for the API. */
const isQuick = ({ name }: MoneyCall): boolean => name === 'the create of a charge' || name === 'a refund';

describe('when Temporal is killed and restarted with its database,', { timeout: ENOUGH_MS }, () => {
  let temporal: RestartableTemporal;
  let stack: Stack;
  beforeAll(async () => {
    temporal = await RestartableTemporal.start(() => {});
    stack = await Stack.start({ ...FAST, shared: { TEMPORAL_ADDRESS: temporal.address } });
  });
  afterAll(async () => {
    await stack.stop();
    await temporal.stop();
  });

  it.each(MONEY_CALLS)(
    '$name that is in progress takes effect once, and the checkout ends without a person',
    async (call) => {
      const id = await callUnder(stack, call, () => temporal.restart());
      await expectRightEnd(stack, call, id);
    },
  );

  it('Tillflow sees a payment that the customer makes meanwhile', async () => {
    const id = (await open?.(stack)) ?? '';
    const { body } = await stack.get(`/v1/checkouts/${id}`);
    const restarted = temporal.restart();
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    await restarted;
    await stack.untilStatus(id, 'paid', 90_000);
    await expectRecords(stack, id, { status: 'paid', refunds: [] });
  });

  it('an idle paid checkout can be refunded afterwards', async () => {
    const id = (await paid?.(stack)) ?? '';
    await temporal.restart();
    const [, , , refund] = MONEY_CALLS;
    await refund?.provoke(stack, id);
    await stack.untilStatus(id, 'partially_refunded', 90_000);
    await expectRecords(stack, id, { status: 'partially_refunded', refunds: [50_000], kind: 'refund' });
  });

  it('every workflow still exists', async () => {
    const { charges } = stack.sandbox.state();
    for (const { metadata, id } of charges) {
      const { state } = await stack.memoOf(metadata['checkout'] as string);
      expect(state?.attempts.map(({ charge_id }) => charge_id)).toContain(id);
    }
  });
});

describe('when the API is killed and restarted,', { timeout: ENOUGH_MS }, () => {
  let stack: Stack;
  let api: ApiProcess;
  beforeAll(async () => {
    stack = await Stack.start(FAST);
    api = await ApiProcess.startIn(stack);
  });
  afterAll(() => stack.stop());

  const expectOnce = async (call: MoneyCall): Promise<void> => {
    const id = await callUnder(stack, call, () => api.restart());
    await expectRightEnd(stack, call, id);
  };
  it.each(MONEY_CALLS.filter(isQuick))(
    '$name that is in progress takes effect once, and the checkout ends without a person',
    (call) => expectOnce(call),
  );
  it.each(MONEY_CALLS.filter((call) => !isQuick(call)))(
    '$name that is in progress takes effect once, and the checkout ends without a person',
    FULL,
    (call) => expectOnce(call),
  );

  it('Tillflow sees a payment whose webhook arrives meanwhile', async () => {
    const id = (await open?.(stack)) ?? '';
    const { body } = await stack.get(`/v1/checkouts/${id}`);
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    await api.restart();
    await stack.untilStatus(id, 'paid', 60_000);
    await expectRecords(stack, id, { status: 'paid', refunds: [] });
  });
});
