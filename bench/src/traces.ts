import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { chargeOf, newReference, Till } from './checkout/till.js';
import { times, type MeasuredProcess } from './processes.js';
import { print, ratio, report } from './report.js';
import { Engine } from './stack.js';
import { randomOf, ratioOf, shuffled, sum } from './statistics.js';

/** Rounds of each side, and the paid checkouts of one. */
const FULL = { rounds: 20, checkouts: 150 };
const QUICK = { rounds: 2, checkouts: 20 };
const CALLERS = 8;
/** The packages of OpenTelemetry. Metrics load its interfaces, which do nothing. */
const OPEN_TELEMETRY = /@opentelemetry\/(?!api\/)[a-z-]+/;

/** CPU of API and worker for one round, in seconds, and its checkouts. */
type Round = { readonly cpuSeconds: number; readonly checkouts: number };

/** An API and a worker of their own. Both sides share the Temporal server and the sandbox. */
type Side = { readonly api: MeasuredProcess; readonly worker: MeasuredProcess; readonly till: Till };

/**
 * Measures the CPU of API and worker for a paid checkout with traces, exported by the default share, and without. The
 * sides take turns, in a new random order each time.
 */
export async function benchTraces({
  quick,
  seed,
}: {
  readonly quick: boolean;
  readonly seed: number;
}): Promise<boolean> {
  const { rounds, checkouts } = quick ? QUICK : FULL;
  const random = randomOf(seed);
  const store = new TraceStore();
  const engine = await Engine.start();
  const on = await startSide(engine, 'traces-on', { OTEL_EXPORTER_OTLP_ENDPOINT: await store.start() });
  const off = await startSide(engine, 'traces-off', {});
  const measured = new Map<Side, Round[]>([
    [on, []],
    [off, []],
  ]);
  try {
    // What a program does for its first checkouts only: loading and compiling.
    for (const side of measured.keys()) await sell(engine, side, checkouts);
    const spansBefore = store.spans;
    for (let round = 1; round <= rounds; round += 1) {
      print(`traces: round ${round} of ${rounds}`);
      for (const [side, done] of shuffled([...measured], random)) done.push(await sell(engine, side, checkouts));
    }
    const cpuMs = (done: readonly Round[]): number =>
      (1_000 * sum(done.map(({ cpuSeconds }) => cpuSeconds))) / sum(done.map((one) => one.checkouts));
    const [withTraces = [], without = []] = [measured.get(on), measured.get(off)];
    const loaded = [...(await off.api.loaded(OPEN_TELEMETRY)), ...(await off.worker.loaded(OPEN_TELEMETRY))];
    const results = [
      ratio(
        'CPU of API and worker for a paid checkout with traces, relative to without',
        ratioOf(withTraces, without, random, cpuMs),
        { atMost: 1.03 },
      ),
      { name: '  with traces', value: cpuMs(withTraces), unit: 'ms', digits: 1 },
      { name: '  without', value: cpuMs(without), unit: 'ms', digits: 1 },
      {
        name: '  spans exported for a checkout',
        value: (store.spans - spansBefore) / (rounds * checkouts),
        unit: '',
        digits: 2,
        bound: { atLeast: quick ? 0 : 0.1 },
      },
      {
        name: 'packages of OpenTelemetry that API and worker load without traces',
        value: loaded.length,
        unit: '',
        bound: { atMost: 0 },
      },
    ];
    return await report('traces', results, { rounds, checkouts, seed, withTraces, without, loaded });
  } finally {
    for (const { api, worker, till } of measured.keys()) {
      await till.close();
      await api.stop();
      await worker.stop();
    }
    await engine.stop();
    store.stop();
  }
}

async function startSide(engine: Engine, queue: string, traces: Readonly<Record<string, string>>): Promise<Side> {
  const env = { TEMPORAL_TASK_QUEUE: queue, ...traces };
  const worker = await engine.startWorker(env);
  const api = await engine.startApi(env);
  return { api, worker, till: new Till(api.address) };
}

/** Opens checkouts, pays each at once, and waits until the webhook has revealed the payment. */
async function sell(engine: Engine, { api, worker, till }: Side, checkouts: number): Promise<Round> {
  await engine.sandbox.control('POST', '/webhooks', { url: `${api.address}/webhooks/provider` });
  const cpuSeconds = async (): Promise<number> =>
    sum((await Promise.all([api.usage(), worker.usage()])).map((usage) => usage.cpuSeconds));
  const before = await cpuSeconds();
  await times(checkouts, CALLERS, async () => {
    const checkout = await till.create(newReference());
    await engine.sandbox.call('POST', `/charges/${chargeOf(checkout)}/mark_as_paid`);
    await till.until(checkout, ({ status }) => status === 'paid');
  });
  return { cpuSeconds: (await cpuSeconds()) - before, checkouts };
}

/** Takes spans, and counts them. */
class TraceStore {
  spans = 0;
  readonly #server: Server = createServer((request, response) => void this.#take(request, response));

  /** @returns its address */
  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.spans += (await text(request)).split('"spanId"').length - 1;
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
