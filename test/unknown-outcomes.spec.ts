import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FULL } from './support/full.js';
import {
  expectRightEnd,
  FAST as FAST_STACK,
  hasEffect,
  isDoneAndLost,
  LOST_ANSWERS,
  MONEY_CALLS,
  rows,
  strike,
  type Lost,
} from './support/money-calls.js';
import { chargeIdOf, IMPATIENT, SETTLES_SOON, Stack } from './support/stack.js';

const isTested = (fault: Lost): boolean => isDoneAndLost(fault) || fault.action === 'reset_before';

/** The product's times, shortened: no proof depends on them. */
const FAST = {
  ...SETTLES_SOON,
  POLL_INTERVAL_MS: '2000',
  ANSWER_WITHIN_MS: '20000',
};

describe.each(MONEY_CALLS)('when the answer to $name is lost', (call) => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await Stack.start(FAST_STACK);
  });
  afterAll(() => stack.stop());

  async function expectOneEffect(fault: Lost): Promise<void> {
    const id = await call.prepare(stack);
    const before = stack.requests(`POST ${call.route}`).length;
    const struck = strike(stack, call, fault);
    await call.provoke(stack, id);
    await struck;
    await expectRightEnd(stack, call, id);
    const isToBeRepeated = !hasEffect(fault) || !call.isFoundAgain;
    expect(stack.requests(`POST ${call.route}`).length - before).toBe(isToBeRepeated ? 2 : 1);
  }

  // One that the provider did and one that it did not do: only the second is repeated.
  const [tested, others] = [LOST_ANSWERS.filter(isTested), LOST_ANSWERS.filter((fault) => !isTested(fault))];
  it.each(rows(tested))(
    'by %s, a lookup finds the outcome: the call takes effect once, and the checkout ends without a person',
    (_, fault) => expectOneEffect(fault),
  );
  it.each(rows(others))(
    'by %s, a lookup finds the outcome: the call takes effect once, and the checkout ends without a person',
    FULL,
    (_, fault) => expectOneEffect(fault),
  );
});

let stack: Stack;
beforeAll(async () => {
  stack = await Stack.start({ api: FAST });
});
afterAll(() => stack.stop());

describe('when the answer to a retrieve is lost', () => {
  async function expectSeen(fault: Lost): Promise<void> {
    const body = await stack.open();
    stack.sandbox.faults.add({ method: 'GET', path: '/charges/{id}', ...fault, times: 1 });
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    await stack.untilStatus(body.id, 'paid');
  }

  const [tested, others] = [LOST_ANSWERS.filter(isTested), LOST_ANSWERS.filter((fault) => !isTested(fault))];
  it.each(rows(tested))('by %s, the worker retrieves the charge again, and the payment is seen', (_, fault) =>
    expectSeen(fault),
  );
  it.each(rows(others))('by %s, the worker retrieves the charge again, and the payment is seen', FULL, (_, fault) =>
    expectSeen(fault),
  );
});

describe('a create that the provider refuses', () => {
  it('when the provider refuses a create with 429, Tillflow creates the charge later, and only once', async () => {
    stack.sandbox.faults.add({ method: 'POST', path: '/charges', action: 'status', status: 429, times: 4 });
    const ready = await stack.open();
    expect(ready.status).toBe('awaiting_payment');
    expect(stack.chargesOf(ready.id)).toHaveLength(1);
  });

  it('when the provider refuses the repeat of a create with an unknown outcome, Tillflow believes the refusal only after a lookup', async () => {
    stack.sandbox.faults.add([
      { method: 'POST', path: '/charges', action: 'reset_before', times: 1 },
      { method: 'POST', path: '/charges', action: 'commit_then_status', status: 400, times: 1 },
    ]);
    const { body } = await stack.create();
    expect(body).toMatchObject({ status: 'awaiting_payment' });
    expect(stack.chargesOf(body.id).map(({ id }) => id)).toEqual([chargeIdOf(body)]);
  });

  it.each([
    [[{ action: 'commit_then_status', status: 408, times: 1 }]],
    [
      [
        { action: 'commit_then_status', status: 429, times: 1 },
        { action: 'status', status: 400, times: 1 },
      ],
    ],
  ] as const)(
    'refuses a create that took effect (%j), Tillflow finds the charge before it shows the attempt as failed',
    async (faults) => {
      stack.sandbox.faults.add(faults.map((fault) => ({ method: 'POST', path: '/charges', ...fault })));
      const { body } = await stack.create();
      expect(body.status).toBe('awaiting_payment');
      expect(stack.chargesOf(body.id).map(({ id }) => id)).toEqual([chargeIdOf(body)]);
    },
  );

  it('does not show a created charge for a long time, a cancel starts the next lookup at once', async () => {
    const slow = await Stack.start({
      api: { ...FAST, LOOK_DELAYS_MS: '50,3600000', SETTLE_DELAY_MS: '50', ANSWER_WITHIN_MS: '1500' },
    });
    try {
      slow.sandbox.faults.add([
        { method: 'POST', path: '/charges', action: 'commit_then_reset', times: 1 },
        { method: 'GET', path: '/sources/{id}', action: 'status', status: 404, times: 2 },
      ]);
      const { body } = await slow.create();
      expect(body.status).toBe('creating');
      await expect.poll(() => slow.requests('GET /sources/{id}').length).toBeGreaterThan(0);
      // The lookup that is due when the call can no longer be in flight has passed: the next one is an hour away.
      await setTimeout(1_700);
      await slow.post(`/v1/checkouts/${body.id}/cancel`);
      await slow.untilStatus(body.id, 'cancelled');
      expect(slow.chargesOf(body.id)).toMatchObject([{ status: 'expired' }]);
    } finally {
      await slow.stop();
    }
  });

  it("makes the charge only after the call's deadline, Tillflow does not repeat the create meanwhile", async () => {
    const before = stack.requests('POST /charges').length;
    stack.sandbox.faults.add({ method: 'POST', path: '/charges', action: 'delay', delay_ms: 750, times: 1 });
    const { body } = await stack.create();
    expect(body.qr).not.toBeNull();
    expect(stack.requests('POST /charges').length - before).toBe(1);
    expect(stack.chargesOf(body.id)).toHaveLength(1);
  });

  it('takes seven seconds to answer, which is within the default deadline, the outcome is known', async () => {
    const patient = await Stack.start({ api: IMPATIENT });
    try {
      patient.sandbox.faults.add({ method: 'POST', path: '/charges', action: 'delay', delay_ms: 7_000, times: 1 });
      const { status, body } = await patient.create();
      expect(status).toBe(202);
      await patient.until(body.id, ({ qr }) => qr !== null);
      const words = (await patient.timeline(body.id)).map(({ what }) => what);
      expect(words).toEqual(['opened', 'source_created', 'charge_created']);
    } finally {
      await patient.stop();
    }
  });

  it.each([
    ['behind', { now: new Date(Date.now() - 7_200_000).toISOString() }, 0],
    ['ahead', {}, 7_200],
  ] as const)(
    'has a clock that is far %s, Tillflow still finds a charge whose answer was lost',
    async (_, sandbox, seconds) => {
      const skewed = await Stack.start({ api: FAST, sandbox });
      try {
        skewed.sandbox.advance(seconds);
        skewed.sandbox.faults.add({ method: 'POST', path: '/charges', action: 'commit_then_reset', times: 1 });
        const { body } = await skewed.create({ expires_in: 86_400 });
        expect(body).toMatchObject({ status: 'awaiting_payment' });
        expect(skewed.chargesOf(body.id).map(({ id }) => id)).toEqual([chargeIdOf(body)]);
      } finally {
        await skewed.stop();
      }
    },
  );

  it('stays silent, Tillflow never reports an unknown charge as failed, shows attention, and settles the charge with the first answer', async () => {
    const slow = await Stack.start({ api: { ...FAST, ATTENTION_AFTER_MS: '300', ANSWER_WITHIN_MS: '1000' } });
    try {
      slow.sandbox.faults.add([
        { method: 'POST', path: '/charges', action: 'commit_then_reset' },
        { method: 'GET', path: '/sources/{id}', action: 'status', status: 500 },
      ]);
      const { status, body } = await slow.create();
      expect(status).toBe(202);
      const waiting = await slow.until(body.id, ({ attention }) => attention?.code === 'outcome_unknown');
      expect(waiting.status).toBe('creating');
      slow.sandbox.faults.clear();
      const ready = await slow.until(body.id, ({ qr }) => qr !== null);
      expect(ready).toMatchObject({ status: 'awaiting_payment', attention: null });
      expect(slow.chargesOf(body.id)).toHaveLength(1);
    } finally {
      await slow.stop();
    }
  });

  it('answers a create with another amount, Tillflow does not believe the charge and does not show its QR', async () => {
    const before = stack.requests('POST /charges').length;
    stack.sandbox.faults.add({
      method: 'POST',
      path: '/charges',
      action: 'garbage_body',
      times: 1,
      body: '{"object":"charge","id":"chrg_test_other","status":"pending","amount":1,"currency":"THB"}',
    });
    const { body } = await stack.create();
    expect(body.status).toBe('awaiting_payment');
    expect(chargeIdOf(body)).not.toBe('chrg_test_other');
    expect(stack.requests('POST /charges').length - before).toBe(1);
  });

  it('refuses every create with 429 until the time to pay is over, the checkout expires and nothing is charged', async () => {
    stack.sandbox.faults.add({ method: 'POST', path: '/charges', action: 'status', status: 429 });
    const { body } = await stack.create({ expires_in: 5 });
    const ended = await stack.untilStatus(body.id, 'expired');
    stack.sandbox.faults.clear();
    expect(ended.attempts).toMatchObject([{ charge_id: null, status: 'expired' }]);
    expect(stack.chargesOf(body.id)).toEqual([]);
  });
});
