import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { performance } from 'node:perf_hooks';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { DEFAULT_ACCOUNT } from '@tillflow/domain';
import { EndpointSealer, EventEndpoints, eventLinks, nameOnQueue, Seal } from '@tillflow/temporal';
import { eventFeedWorkflowId } from '@tillflow/workflows';
import { billedActions, runsOf } from './checkout/histories.js';
import { chargeOf, newReference, Till } from './checkout/till.js';
import { evenly } from './processes.js';
import { print, report } from './report.js';
import { PROVIDER } from './sandbox-process.js';
import { Engine, TASK_QUEUE } from './stack.js';
import { percentile, sum } from './statistics.js';

const CHECKOUTS_PER_SECOND = 10;
/** Each checkout has two events: the QR code and the payment. */
const EVENTS_OF_A_CHECKOUT = 2;
const FULL_S = 180;
const QUICK_S = 15;
const ALL_WITHIN_MS = 60_000;
/** The time between two heartbeats of a long activity, which Temporal Cloud bills. Milliseconds. */
const HEARTBEAT_MS = 8_000;
const NETWORKS = { EVENT_ENDPOINT_NETWORKS: '127.0.0.0/8' } as const;

/** Measures events at 20 a second to one endpoint that accepts all: how late they come, and what they cost. */
export async function benchEvents({ quick }: { readonly quick: boolean }): Promise<boolean> {
  const seconds = quick ? QUICK_S : FULL_S;
  const engine = await Engine.start();
  const worker = await engine.startWorker(NETWORKS);
  const api = await engine.startApi(NETWORKS);
  const till = new Till(api.address);
  const receiver = await Receiver.start();
  try {
    const endpoints = new EventEndpoints(engine.temporal, { taskQueue: TASK_QUEUE, readWithinMs: 10_000 });
    const { sealed } = await new EndpointSealer(new Seal(PROVIDER.secretKey)).create(eventLinks(api.address, 'bench'));
    const fields = { url: receiver.url, events: null, description: null, by: 'bench' };
    await endpoints.create(fields, sealed);
    print(`events: ${CHECKOUTS_PER_SECOND} checkouts a second for ${seconds} s`);
    const paidAt = await sellEvenly(engine, till, seconds);
    const events = paidAt.size * EVENTS_OF_A_CHECKOUT;
    await receiver.until(events);
    const delays = [...paidAt].map(([id, at]) => (receiver.arrivedAt.get(`${id} checkout.paid`) ?? Infinity) - at);
    const running = await endpoints.running();
    const billed = await billedFor(
      engine,
      running.map(({ workflowId }) => workflowId),
      seconds,
    );
    const results = [
      { name: 'payment → delivery, p50', value: percentile(delays, 0.5), unit: 'ms' },
      {
        name: 'payment → delivery, p99',
        value: percentile(delays, 0.99),
        unit: 'ms',
        ...(!quick && { bound: { atMost: 2_000 } }),
      },
      {
        name: 'billed actions of an event',
        value: billed / events,
        unit: '',
        digits: 2,
        ...(!quick && { bound: { atMost: 1.5 } }),
      },
      { name: '  events', value: events, unit: '' },
      { name: '  deliveries', value: receiver.deliveries, unit: '' },
    ];
    return await report('events', results, { seconds, billed, events });
  } finally {
    receiver.close();
    await till.close();
    await api.stop();
    await worker.stop();
    await engine.stop();
  }
}

/** Opens and pays checkouts at an even rate. @returns when each was paid at the provider, by its id */
async function sellEvenly(engine: Engine, till: Till, seconds: number): Promise<Map<string, number>> {
  const paidAt = new Map<string, number>();
  const sell = async (): Promise<void> => {
    const checkout = await till.create(newReference());
    paidAt.set(checkout.id, performance.now());
    await engine.sandbox.call('POST', `/charges/${chargeOf(checkout)}/mark_as_paid`);
  };
  await Promise.all(await evenly(seconds * CHECKOUTS_PER_SECOND, 1_000 / CHECKOUTS_PER_SECOND, sell));
  return paidAt;
}

/** The billed actions of the feed and of the endpoint. Heartbeats are in no history: the feed's are counted by time. */
async function billedFor({ temporal }: Engine, endpoints: readonly string[], seconds: number): Promise<number> {
  const feed = nameOnQueue(eventFeedWorkflowId(DEFAULT_ACCOUNT), TASK_QUEUE);
  const runs = await Promise.all([feed, ...endpoints].map((id) => runsOf(temporal, id)));
  return sum(runs.flat().map(({ events }) => billedActions(events))) + (seconds * 1_000) / HEARTBEAT_MS;
}

/** Accepts every delivery. */
class Receiver {
  /** By the checkout's id and the type. */
  readonly arrivedAt = new Map<string, number>();
  deliveries = 0;
  readonly #server = createServer((request, response) => void this.#receive(request, response));

  static async start(): Promise<Receiver> {
    const receiver = new Receiver();
    receiver.#server.listen(0, '127.0.0.1');
    await once(receiver.#server, 'listening');
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** @throws {Error} when they do not arrive within a minute. */
  async until(events: number): Promise<void> {
    const end = Date.now() + ALL_WITHIN_MS;
    while (this.arrivedAt.size < events) {
      if (Date.now() > end) throw new Error(`${this.arrivedAt.size} of ${events} events arrived`);
      await sleep(100);
    }
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const arrivedAt = performance.now();
    const { type, data } = JSON.parse(await text(request)) as { readonly type: string; readonly data: { id: string } };
    const key = `${data.id} ${type}`;
    if (!this.arrivedAt.has(key)) this.arrivedAt.set(key, arrivedAt);
    this.deliveries += 1;
    response.end();
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
