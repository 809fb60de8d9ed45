import { LoadBalancer, TemporalOnPostgres } from '@tillflow/tools/postgres';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { eventually } from '../support/eventually.js';
import { callUnder, expectRightEnd, FAST, MONEY_CALLS, type MoneyCall } from '../support/money-calls.js';
import { Stack } from '../support/stack.js';

const SERVERS = 2;
/** Each of a server's four services has a pool of 20 connections and one of 10. */
const POOLS = SERVERS * 4 * (20 + 10);
const MAX_CONNECTIONS = POOLS + 20;
const IN_FLIGHT = 100;
/** How many calls have arrived at the provider when the blow is struck. */
const ARRIVED = IN_FLIGHT / 4;
const ENOUGH_MS = 300_000;
/** 100 callers at once wait longer for an answer than one does. */
const PATIENT = { ANSWER_WITHIN_MS: '5000' };

/** A running installation is not this command's to kill. */
const isSpared = (process.env['TEMPORAL_ADDRESS'] ?? '') !== '';

type Blow = {
  readonly what: string;
  strike(installation: TemporalOnPostgres): Promise<void>;
  /** Brings back what the blow took away. */
  mend(installation: TemporalOnPostgres): Promise<void>;
};

const BLOWS: readonly Blow[] = [
  {
    what: 'PostgreSQL is killed and restarted with its data',
    strike: async ({ database }) => {
      await database.kill();
      await database.start();
    },
    mend: () => Promise.resolve(),
  },
  {
    what: 'one of two Temporal servers is killed and stays away',
    strike: async ({ servers: [first] }) => first?.kill(),
    mend: async ({ servers: [first] }) => first?.start(),
  },
  {
    what: 'the other Temporal server is killed and stays away',
    strike: async ({ servers: [, second] }) => second?.kill(),
    mend: async ({ servers: [, second] }) => second?.start(),
  },
];

describe.each(BLOWS.map((blow) => [blow.what, blow] as const))(
  'when %s,',
  { timeout: ENOUGH_MS },
  (_, { strike, mend }) => {
    let installation: TemporalOnPostgres;
    let balancer: LoadBalancer;
    let stack: Stack;
    beforeAll(async () => {
      if (isSpared) return;
      installation = await TemporalOnPostgres.start({
        servers: SERVERS,
        maxConnections: MAX_CONNECTIONS,
        env: process.env,
        log: () => {},
      });
      balancer = await LoadBalancer.before(installation.addresses);
      stack = await Stack.start({ api: { ...FAST.api, ...PATIENT }, shared: { TEMPORAL_ADDRESS: balancer.address } });
    }, ENOUGH_MS);
    beforeEach(({ skip }) => skip(isSpared, 'a running installation is not killed'));
    afterAll(async () => {
      await stack?.stop();
      balancer?.close();
      await installation?.stop();
    });

    it.each(MONEY_CALLS)(
      '$name that is in progress takes effect once, and the checkout ends without a person',
      async (call) => {
        const id = await callUnder(stack, call, () => strike(installation));
        await expectRightEnd(stack, call, id);
        await mend(installation);
        await untilSettled(stack);
      },
    );

    it(`${IN_FLIGHT} checkouts with a call in progress lose nothing and double nothing`, async () => {
      const before = stack.sandbox.state().charges.length;
      const calls = Array.from({ length: IN_FLIGHT }, (_, n) => MONEY_CALLS[n % MONEY_CALLS.length] ?? fail());
      const prepared: { call: MoneyCall; id: string }[] = [];
      for (const call of calls) prepared.push({ call, id: await call.prepare(stack) });

      let arrived = 0;
      let struck: Promise<void> | undefined;
      const end = stack.sandbox.on('request', ({ method }) => {
        if (method === 'POST') arrived += 1;
        if (arrived >= ARRIVED) struck ??= strike(installation);
      });
      await Promise.all(
        prepared.map(async ({ call, id }) => {
          await call.provoke(stack, id);
          await expectRightEnd(stack, call, id);
        }),
      );
      end();
      await vi.waitUntil(() => struck !== undefined);
      await struck;
      expect(stack.sandbox.state().charges).toHaveLength(before + IN_FLIGHT);
      await mend(installation);
    });

    it('Temporal holds no more connections than the pools of its servers allow', async () => {
      const held = `SELECT count(*) FROM pg_stat_activity WHERE datname LIKE 'temporal%'`;
      const [count] = await installation.database.select(held);
      expect(Number(count)).toBeGreaterThan(SERVERS);
      expect(Number(count)).toBeLessThanOrEqual(POOLS);
    });

    it('every workflow still exists', async () => {
      for (const { metadata, id } of stack.sandbox.state().charges) {
        const { state } = await stack.memoOf(metadata['checkout'] as string);
        expect(state?.attempts.map(({ charge_id }) => charge_id)).toContain(id);
      }
    });
  },
);

/** The servers divide their work anew when one comes back: waits until every checkout can be read. */
function untilSettled(stack: Stack): Promise<void> {
  const { charges } = stack.sandbox.state();
  return eventually(
    async () => {
      for (const { metadata } of charges) await stack.memoOf(metadata['checkout'] as string);
    },
    { timeoutMs: 60_000 },
  );
}

function fail(): never {
  throw new Error('There is no call');
}
