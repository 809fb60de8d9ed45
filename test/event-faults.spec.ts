import { setTimeout as sleep } from 'node:timers/promises';
import { RestartableTemporal } from '@tillflow/tools';
import { EndpointSealer, EventEndpoints, eventLinks, Seal } from '@tillflow/temporal';
import { DEFAULT_ENDPOINT_POLICY } from '@tillflow/workflows';
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from './support/eventually.js';
import { FULL } from './support/full.js';
import { Receiver, type Received } from './support/receiver.js';
import { chargeIdOf, SIGNING_KEY, Stack, type CheckoutJson } from './support/stack.js';
import { WorkerProcess } from './support/worker-process.js';

const print = (line: string): void => void process.stdout.write(`${line}\n`);
/** Printed, so that the same draws can be repeated: SEED=… FULL=1 npx vitest run test/event-faults.spec.ts. */
const SEED = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const CHECKOUTS = Number(process.env['CHECKOUTS'] ?? 200);
/** Most of them wait for a worker that is frozen or starts. */
const AT_ONCE = CHECKOUTS > 1_000 ? 100 : 20;
const WORKERS = 2;
/** The receiver is down 30 % of the time, and Temporal is restarted four times. Milliseconds. */
const [DOWN_MS, UP_MS] = [3_000, 7_000];
const RESTARTS = 4;
/** A worker that is frozen for so long misses heartbeats. Milliseconds. */
const FROZEN_MS = 13_000;
/** What waits for a try is sent in minutes, not in days. */
const POLICY = { retryDelaysMs: DEFAULT_ENDPOINT_POLICY.retryDelaysMs.map((ms) => ms / 100) };
const ENOUGH_MS = 7_200_000;

type Accepted = Received & { readonly order: number };

describe(
  `events of ${CHECKOUTS} checkouts, while the receiver, workers and Temporal fail (SEED=${SEED})`,
  { ...FULL, timeout: ENOUGH_MS },
  () => {
    const generator = xoroshiro128plus(SEED);
    const random = (): number => uniformFloat64(generator);
    const accepted = new Map<string, Accepted[]>();
    /** The checkouts that showed a QR code. One that is cancelled while its charge is created has a charge and shows none. */
    const shown = new Set<string>();
    const workers: WorkerProcess[] = [];
    const counts = { killed: 0, frozen: 0, restarted: 0, refused: 0, hung: 0, down: 0 };
    let temporal: RestartableTemporal;
    let stack: Stack;
    let receiver: Receiver;
    let checkouts: CheckoutJson[] = [];
    let isDown = false;

    /** The types of events that a checkout must have sent, without `checkout.`. */
    const expectedOf = ({ id, status, refunded_amount }: CheckoutJson): string[] => [
      ...(shown.has(id) ? ['awaiting_payment'] : []),
      ...(status === 'cancelled' ? ['cancelled'] : ['paid']),
      ...(refunded_amount > 0 ? ['refunded'] : []),
    ];

    const answer = async (delivery: Received) => {
      const draw = random();
      if (isDown) counts.down += 1;
      else if (draw < 0.1) counts.refused += 1;
      else if (draw < 0.11) counts.hung += 1;
      if (!isDown && draw >= 0.1 && draw < 0.11) await sleep(20_000);
      if (isDown || draw < 0.11) return { status: 500 };
      const known = accepted.get(delivery.data.id) ?? [];
      accepted.set(delivery.data.id, [...known, { ...delivery, order: known.length }]);
      return { status: 200 };
    };

    async function sell(): Promise<CheckoutJson> {
      const { body } = await stack.begin();
      await sleep(random() * 500);
      const { id } = body;
      if (body.qr !== null) shown.add(id);
      if (random() < 0.2) {
        await patiently(() => stack.post(`/v1/checkouts/${id}/cancel`));
        return stack.until(id, ({ status }) => status === 'cancelled', ENOUGH_MS);
      }
      const open = await stack.until(id, ({ qr }) => qr !== null, ENOUGH_MS);
      shown.add(id);
      stack.sandbox.mark(chargeIdOf(open), { status: 'successful' });
      await stack.untilStatus(id, 'paid', ENOUGH_MS);
      if (random() < 0.3) {
        const headers = { 'idempotency-key': 'return' };
        const options = { body: { amount: 50_000 }, headers };
        await patiently(() => stack.request('POST', `/v1/checkouts/${id}/refunds`, options));
      }
      return stack.until(id, ({ status }) => status !== 'creating', ENOUGH_MS);
    }

    /** Repeats a request until its answer is no 503, as a till does. */
    const patiently = (request: () => Promise<{ status: number }>): Promise<void> =>
      eventually(
        async () => {
          if ((await request()).status === 503) throw new Error('503');
        },
        { timeoutMs: ENOUGH_MS },
      );

    async function disrupt(signal: AbortSignal): Promise<void> {
      const until = (ms: number): Promise<unknown> => sleep(ms, undefined, { signal }).catch(() => undefined);
      const receiving = async (): Promise<void> => {
        while (!signal.aborted) {
          isDown = false;
          await until(UP_MS);
          isDown = !signal.aborted;
          await until(DOWN_MS);
        }
        isDown = false;
      };
      const working = async (): Promise<void> => {
        while (!signal.aborted) {
          await until(4_000 + random() * 8_000);
          const index = Math.floor(random() * WORKERS);
          const worker = workers[index];
          if (signal.aborted || worker === undefined) return;
          if (counts.killed < counts.frozen) {
            await worker.stop();
            counts.killed += 1;
            workers[index] = await WorkerProcess.start(stack.workerEnvironment());
          } else {
            worker.signal('SIGSTOP');
            await until(FROZEN_MS);
            worker.signal('SIGCONT');
            counts.frozen += 1;
          }
        }
      };
      await Promise.all([receiving(), working()]);
    }

    beforeAll(async () => {
      if (process.env['FULL'] !== '1') return;
      temporal = await RestartableTemporal.start(() => {});
      const shared = { TEMPORAL_ADDRESS: temporal.address, EVENT_ENDPOINT_NETWORKS: '127.0.0.0/8' };
      stack = await Stack.start({ worker: false, shared });
      for (let index = 0; index < WORKERS; index += 1) {
        workers.push(await WorkerProcess.start(stack.workerEnvironment()));
      }
      receiver = await Receiver.start();
      receiver.answer = answer;
      const endpoints = new EventEndpoints(stack.temporal, { taskQueue: stack.taskQueue, readWithinMs: 10_000 });
      const { sealed } = await new EndpointSealer(new Seal(stack.sandbox.keys.secret)).create(
        eventLinks(stack.api.url, SIGNING_KEY),
      );
      await endpoints.create({ url: receiver.url, events: null, description: null, by: 'a test' }, sealed, POLICY);
      const ending = new AbortController();
      const disrupting = disrupt(ending.signal);
      const sold: CheckoutJson[] = [];
      let begun = 0;
      const till = async (): Promise<void> => {
        while (begun < CHECKOUTS) {
          begun += 1;
          const restart = Math.ceil(CHECKOUTS / (RESTARTS + 1));
          if (begun % restart === 0 && counts.restarted < RESTARTS) {
            counts.restarted += 1;
            await temporal.restart();
          }
          sold.push(await sell());
          if (sold.length % 1_000 === 0) print(`${sold.length} checkouts`);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, till));
      ending.abort();
      await disrupting;
      checkouts = await Promise.all(sold.map(({ id }) => stack.until(id, () => true, ENOUGH_MS)));
      // Everything that waits for a further try is sent with the next accepted delivery.
      await eventually(
        async () => {
          const missing = checkouts.filter((one) => missingOf(one).length > 0).length;
          if (missing === 0) return;
          await stack.begin();
          throw new Error(`${missing} checkouts miss events`);
        },
        { timeoutMs: 900_000 },
      ).catch((error: unknown) => print(String(error)));
      print(`${CHECKOUTS} checkouts: ${JSON.stringify(counts)}`);
    }, ENOUGH_MS);

    afterAll(async () => {
      if (process.env['FULL'] !== '1') return;
      await Promise.all(workers.map((worker) => worker.stop()));
      await receiver.close();
      await stack.stop();
      await temporal.stop();
    });

    const acceptedOf = ({ id }: CheckoutJson): readonly Accepted[] => accepted.get(id) ?? [];
    const missingOf = (checkout: CheckoutJson): string[] => {
      const types = new Set(acceptedOf(checkout).map(({ type }) => type.replace('checkout.', '')));
      return expectedOf(checkout).filter((type) => !types.has(type));
    };

    it('every state that lasted is delivered', () => {
      expect(checkouts).toHaveLength(CHECKOUTS);
      expect(checkouts.filter((one) => missingOf(one).length > 0)).toEqual([]);
    });

    it('the last delivery of each checkout shows its newest state', () => {
      const newest = ({ status, refunded_amount, version }: CheckoutJson) => ({ status, refunded_amount, version });
      const wrong = checkouts.filter((one) => {
        const last = acceptedOf(one).at(-1);
        return last === undefined || JSON.stringify(newest(last.data)) !== JSON.stringify(newest(one));
      });
      expect(wrong.map((one) => [newest(one), acceptedOf(one).map(({ data }) => newest(data))])).toEqual([]);
    });

    it('the deliveries of each checkout come in the order of their versions', () => {
      const versions = checkouts.map((one) => acceptedOf(one).map(({ data }) => data.version));
      expect(versions.filter((list) => list.some((version, index) => version < (list[index - 1] ?? 0)))).toEqual([]);
    });

    it('a repetition has the id of the delivery that it repeats', () => {
      const doubled = checkouts.filter((one) => {
        const deliveries = acceptedOf(one);
        const ids = new Set(deliveries.map(({ id }) => id));
        return ids.size !== new Set(deliveries.map(({ type }) => type)).size;
      });
      expect(doubled.map((one) => acceptedOf(one).map(({ id, type }) => `${type} ${id}`))).toEqual([]);
    });

    it('workers are killed and frozen, Temporal is restarted, and the receiver is down, refuses and hangs', () => {
      expect(Object.entries(counts).filter(([, count]) => count === 0)).toEqual([]);
    });
  },
);
