import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { RestartableTemporal } from '@tillflow/tools';
import { EndpointSealer, EventEndpoints, eventLinks, Seal } from '@tillflow/temporal';
import { DEFAULT_ENDPOINT_POLICY } from '@tillflow/workflows';
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from './support/eventually.js';
import { FULL, isFull } from './support/full.js';
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
const ENDPOINTS = 2;
/** Each receiver is down 30 % of the time, and Temporal is restarted four times. Milliseconds. */
const [DOWN_MS, UP_MS] = [3_000, 7_000];
const RESTARTS = 4;
/** A worker misses heartbeats when it is frozen for this time. Milliseconds. */
const FROZEN_MS = 13_000;
/** What waits for a try is sent in minutes, not in days. */
const POLICY = { retryDelaysMs: DEFAULT_ENDPOINT_POLICY.retryDelaysMs.map((ms) => ms / 100) };
const ENOUGH_MS = 14_400_000;
const MINUTE_MS = 60_000;

/** What becomes of a checkout, and its share. */
const KINDS = [
  ['cancelled', 0.1],
  ['failed', 0.1],
  ['expired', 0.1],
  // Paid after it was cancelled: an attention, until Tillflow has returned the money.
  ['paid too late', 0.1],
  ['paid', 0.2],
  ['refunded once', 0.2],
  ['refunded twice', 0.2],
] as const;
type Kind = (typeof KINDS)[number][0];

/** How a receiver is down. */
const WAYS = ['answers 500', 'refuses connections', 'resets connections'] as const;
type Way = (typeof WAYS)[number];

type Accepted = {
  readonly id: string;
  readonly type: string;
  /** Of the event. */
  readonly timestamp: string;
  readonly version: number;
  /** As {@link shownIn} reads it. */
  readonly shown: string;
};

/** The part of a checkout that a receiver needs to know. The rest is the same all the time, or follows from the time. */
function shownIn({ status, refunded_amount, attention, attempts, payment }: CheckoutJson): string {
  return JSON.stringify({ status, refunded_amount, attention, attempts, payment });
}

/** The network between Tillflow and a receiver. */
class Door {
  readonly #sockets = new Set<Socket>();
  #isResetting = false;
  #port = 0;
  readonly #server = createServer((socket) => this.#connect(socket));

  private constructor(private readonly receiver: Receiver) {}

  static async to(receiver: Receiver): Promise<Door> {
    const door = new Door(receiver);
    await door.open();
    return door;
  }

  get url(): string {
    const url = new URL(this.receiver.url);
    url.port = String(this.#port);
    return url.href;
  }

  async open(): Promise<void> {
    this.#isResetting = false;
    if (this.#server.listening) return;
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** Ends every connection. New ones are refused, or reset. */
  async close(way: Exclude<Way, 'answers 500'>): Promise<void> {
    this.#isResetting = way === 'resets connections';
    for (const socket of this.#sockets) socket.resetAndDestroy();
    if (this.#isResetting || !this.#server.listening) return;
    this.#server.close();
    await once(this.#server, 'close');
  }

  #connect(socket: Socket): void {
    if (this.#isResetting) return void socket.resetAndDestroy();
    const target = connect(Number(new URL(this.receiver.url).port), '127.0.0.1');
    for (const [one, other] of [
      [socket, target],
      [target, socket],
    ] as const) {
      this.#sockets.add(one);
      one.pipe(other);
      one.on('error', () => undefined);
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
    }
  }
}

describe(
  `events of ${CHECKOUTS} checkouts, while receivers, workers and Temporal fail (SEED=${SEED})`,
  { ...FULL, timeout: ENOUGH_MS },
  () => {
    const generator = xoroshiro128plus(SEED);
    const random = (): number => uniformFloat64(generator);
    const workers: WorkerProcess[] = [];
    const faults = { killed: 0, frozen: 0, restarted: 0, 'answered 500 at random': 0, 'hung at random': 0 };
    const downs = Object.fromEntries(WAYS.map((way) => [way, 0])) as Record<Way, number>;
    const kinds = Object.fromEntries(KINDS.map(([kind]) => [kind, 0])) as Record<Kind, number>;
    const receivers: ReceivingEnd[] = [];
    let temporal: RestartableTemporal;
    let stack: Stack;
    let checkouts: CheckoutJson[] = [];

    /** One endpoint's receiver, which fails at random, and is down 30 % of the time. */
    class ReceivingEnd {
      /** By the id of the checkout. */
      readonly accepted = new Map<string, Accepted[]>();
      #answers500 = false;

      private constructor(
        readonly receiver: Receiver,
        readonly door: Door,
      ) {
        receiver.answer = (delivery) => this.#answer(delivery);
      }

      static async start(): Promise<ReceivingEnd> {
        const receiver = await Receiver.start();
        return new ReceivingEnd(receiver, await Door.to(receiver));
      }

      of({ id }: Pick<CheckoutJson, 'id'>): readonly Accepted[] {
        return this.accepted.get(id) ?? [];
      }

      /** Each way in turn, from the given one on. */
      async fail(first: number, signal: AbortSignal): Promise<void> {
        for (let turn = first; ; turn += 1) {
          await until(UP_MS * (0.5 + random()), signal);
          if (signal.aborted) return;
          const way = WAYS[turn % WAYS.length] ?? 'answers 500';
          downs[way] += 1;
          if (way === 'answers 500') this.#answers500 = true;
          else await this.door.close(way);
          await until(DOWN_MS * (0.5 + random()), signal);
          this.#answers500 = false;
          await this.door.open();
        }
      }

      async #answer({ id, type, raw, data }: Received) {
        this.receiver.received.length = 0;
        if (this.#answers500) return { status: 500 };
        const draw = random();
        if (draw < 0.1) {
          faults['answered 500 at random'] += 1;
          return { status: 500 };
        }
        if (draw < 0.11) {
          faults['hung at random'] += 1;
          await sleep(20_000);
          return { status: 500 };
        }
        if (type === 'endpoint.test') return { status: 200 };
        const { timestamp } = JSON.parse(raw) as { readonly timestamp: string };
        const one = { id, type, timestamp, version: data.version, shown: shownIn(data) };
        this.accepted.set(data.id, [...this.of(data), one]);
        return { status: 200 };
      }
    }

    function drawnKind(): Kind {
      let left = random();
      return KINDS.find(([, share]) => (left -= share) < 0)?.[0] ?? 'paid';
    }

    /** @returns its id, once nothing more happens to it */
    async function sell(kind: Kind): Promise<string> {
      const { body } = await stack.begin(kind === 'expired' ? { expires_in: 5 } : {}, ENOUGH_MS);
      const { id } = body;
      const untilStatus = (wanted: string): Promise<CheckoutJson> =>
        stack.until(id, ({ status, attention }) => status === wanted && attention === null, ENOUGH_MS);
      const cancel = () => patiently(() => stack.post(`/v1/checkouts/${id}/cancel`));
      await sleep(random() * 500);
      if (kind === 'expired') await untilStatus('expired');
      else if (kind === 'cancelled') await cancel().then(() => untilStatus('cancelled'));
      else {
        const charge = chargeIdOf(await stack.until(id, ({ qr }) => qr !== null, ENOUGH_MS));
        if (kind === 'paid too late') {
          await cancel();
          await untilStatus('cancelled');
          stack.sandbox.mark(charge, { status: 'successful', force: true });
          await untilStatus('refunded');
        } else {
          stack.sandbox.mark(charge, { status: kind === 'failed' ? 'failed' : 'successful' });
          await untilStatus(kind === 'failed' ? 'failed' : 'paid');
        }
      }
      const refunds = kind === 'refunded once' ? 1 : kind === 'refunded twice' ? 2 : 0;
      for (let number = 1; number <= refunds; number += 1) {
        const options = { body: { amount: 50_000 }, headers: { 'idempotency-key': `return-${number}` } };
        await patiently(() => stack.request('POST', `/v1/checkouts/${id}/refunds`, options));
        await stack.until(id, ({ refunded_amount }) => refunded_amount === number * 50_000, ENOUGH_MS);
      }
      return id;
    }

    /** Repeats a request until its answer is no 503, as a till does. */
    const patiently = (request: () => Promise<{ status: number }>): Promise<void> =>
      eventually(
        async () => {
          if ((await request()).status === 503) throw new Error('503');
        },
        { timeoutMs: ENOUGH_MS },
      );

    /** Resolves when each fault has happened. The last sales wait for this, however fast the machine sells. */
    const everyFaultHappens = (): Promise<void> =>
      eventually(
        () => {
          const counts = { killed: faults.killed, frozen: faults.frozen, ...downs };
          const missing = Object.entries(counts).filter(([, count]) => count === 0);
          if (missing.length > 0) throw new Error(`Not yet: ${missing.map(([fault]) => fault).join(', ')}`);
        },
        { timeoutMs: 5 * MINUTE_MS },
      );

    const until = (ms: number, signal: AbortSignal): Promise<unknown> =>
      sleep(ms, undefined, { signal }).catch(() => undefined);

    async function failWorkers(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        await until(4_000 + random() * 8_000, signal);
        const index = Math.floor(random() * WORKERS);
        const worker = workers[index];
        if (signal.aborted || worker === undefined) return;
        if (faults.killed < faults.frozen) {
          await worker.stop();
          faults.killed += 1;
          workers[index] = await WorkerProcess.start(stack.workerEnvironment());
        } else {
          worker.signal('SIGSTOP');
          await until(FROZEN_MS, signal);
          worker.signal('SIGCONT');
          faults.frozen += 1;
        }
      }
    }

    beforeAll(async () => {
      if (!isFull) return;
      const beganAt = performance.now();
      temporal = await RestartableTemporal.start(() => {});
      const shared = { TEMPORAL_ADDRESS: temporal.address, EVENT_ENDPOINT_NETWORKS: '127.0.0.0/8' };
      stack = await Stack.start({ worker: false, shared });
      const endpoints = new EventEndpoints(stack.temporal, { taskQueue: stack.taskQueue, readWithinMs: 10_000 });
      const sealer = new EndpointSealer(new Seal(stack.sandbox.keys.secret));
      const ids: string[] = [];
      for (let index = 0; index < ENDPOINTS; index += 1) {
        const end = await ReceivingEnd.start();
        receivers.push(end);
        const { sealed } = await sealer.create(eventLinks(stack.api.url, SIGNING_KEY));
        const fields = { url: end.door.url, events: null, description: null, by: 'a test' };
        ids.push((await endpoints.create(fields, sealed, POLICY))?.endpoint.id ?? '');
      }
      // The endpoints are listed before the workers start, so a worker knows from its first task that there are some.
      await eventually(async () => {
        if ((await endpoints.count()) < ENDPOINTS) throw new Error('Not yet');
      });
      for (let index = 0; index < WORKERS; index += 1) {
        workers.push(await WorkerProcess.start(stack.workerEnvironment()));
      }
      const ending = new AbortController();
      const failing = [failWorkers(ending.signal), ...receivers.map((end, index) => end.fail(index, ending.signal))];
      const sold: string[] = [];
      let begun = 0;
      const till = async (): Promise<void> => {
        while (begun < CHECKOUTS) {
          begun += 1;
          const restart = Math.ceil(CHECKOUTS / (RESTARTS + 1));
          if (begun % restart === 0 && faults.restarted < RESTARTS) {
            faults.restarted += 1;
            await temporal.restart();
          }
          if (begun > CHECKOUTS - AT_ONCE) await everyFaultHappens();
          const kind = drawnKind();
          sold.push(await sell(kind));
          kinds[kind] += 1;
          if (sold.length % 1_000 === 0) print(`${sold.length} checkouts`);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, till)).finally(() => ending.abort());
      await Promise.all(failing);
      const soldAt = performance.now();
      checkouts = await readAll(sold);
      // What waits after its last try is sent when the endpoint accepts a test.
      await eventually(
        async () => {
          const missing = checkouts.filter((one) => !receivers.every((end) => hasNewest(end, one)));
          if (missing.length === 0) return;
          await Promise.all(ids.map((id) => endpoints.test(id, 'a test')));
          await sleep(5_000);
          // A checkout may have changed since it was read: for a while, a busy provider did not answer a poll.
          const reread = await readAll(missing.map(({ id }) => id));
          checkouts = checkouts.map((one) => reread.find(({ id }) => id === one.id) ?? one);
          throw new Error(`${missing.length} states are missing`);
        },
        { timeoutMs: 30 * MINUTE_MS },
      ).catch((error: unknown) => print(String(error)));
      const minutes = (from: number): string => ((performance.now() - from) / MINUTE_MS).toFixed(1);
      print(
        `SEED=${SEED} CHECKOUTS=${CHECKOUTS}: ${minutes(beganAt)} min, of which ${minutes(soldAt)} after the last sale`,
      );
      print(`checkouts: ${JSON.stringify(kinds)}`);
      print(`receivers: ${JSON.stringify(downs)}`);
      print(`faults: ${JSON.stringify(faults)}`);
      print(`accepted deliveries: ${receivers.map(({ accepted }) => [...accepted.values()].flat().length).join(', ')}`);
    }, ENOUGH_MS);

    afterAll(async () => {
      if (!isFull) return;
      await Promise.all(workers.map((worker) => worker.stop()));
      for (const { door, receiver } of receivers) {
        await door.close('refuses connections');
        await receiver.close();
      }
      await stack.stop();
      await temporal.stop();
    });

    /** A few at a time: thousands of readers at once would keep the API from answering any of them. */
    async function readAll(ids: readonly string[]): Promise<CheckoutJson[]> {
      const read: CheckoutJson[] = [];
      const left = [...ids];
      const next = async (): Promise<void> => {
        for (let id = left.pop(); id !== undefined; id = left.pop()) {
          read.push(await stack.until(id, () => true, ENOUGH_MS));
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, next));
      return read;
    }

    const hasNewest = (end: ReceivingEnd, one: CheckoutJson): boolean => end.of(one).at(-1)?.shown === shownIn(one);

    /** The checkouts of which a receiver did not get what it should. */
    const wrongAt = (isRight: (end: ReceivingEnd, one: CheckoutJson) => boolean) =>
      receivers.flatMap((end, index) =>
        checkouts.filter((one) => !isRight(end, one)).map((one) => [index, shownIn(one), end.of(one)]),
      );

    it('the last delivery of each checkout shows its newest state, at each receiver', () => {
      expect(checkouts).toHaveLength(CHECKOUTS);
      expect(wrongAt(hasNewest)).toEqual([]);
    });

    it('the deliveries of each checkout come in the order of their versions', () => {
      const isOrdered = (end: ReceivingEnd, one: CheckoutJson): boolean =>
        end.of(one).every(({ version }, index, all) => version >= (all[index - 1]?.version ?? 0));
      expect(wrongAt(isOrdered)).toEqual([]);
    });

    it('a repetition has the id of the delivery that it repeats, and no other delivery has it', () => {
      const isRepeated = (end: ReceivingEnd, one: CheckoutJson): boolean => {
        const events = end.of(one).map(({ id, type, timestamp }) => [id, `${type} ${timestamp}`] as const);
        const idOf = new Map(events.map(([id, event]) => [event, id]));
        return events.every(([id, event]) => idOf.get(event) === id) && new Set(idOf.values()).size === idOf.size;
      };
      expect(wrongAt(isRepeated)).toEqual([]);
      const [first, second] = receivers.map(
        ({ accepted }) => new Set([...accepted.values()].flat().map(({ id }) => id)),
      );
      // Both receivers get most events, with the same ids.
      expect([...(first ?? [])].filter((id) => second?.has(id)).length).toBeGreaterThan(CHECKOUTS / 2);
    });

    it('every kind of checkout and of failure happens', () => {
      const counts = { ...kinds, ...downs, ...faults };
      expect(Object.entries(counts).filter(([, count]) => count === 0)).toEqual([]);
    });
  },
);
