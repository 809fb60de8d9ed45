import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { chargeOf, newReference, Till } from './checkout/till.js';
import { times, type MeasuredProcess } from './processes.js';
import { print, ratio, report } from './report.js';
import { Engine } from './stack.js';
import { randomOf, ratioOf, shuffled, sum, type Random } from './statistics.js';

/** New pairs of programs, the rounds of each side in a pair, and the paid checkouts of a round. */
const FULL = { pairs: 8, rounds: 3, checkouts: 150 };
const QUICK = { pairs: 2, rounds: 1, checkouts: 20 };
/** The first rounds of each program, which do not count: it loads and compiles code only once. */
const WARM_UP_ROUNDS = 3;
const CALLERS = 8;
/** The packages of OpenTelemetry. Metrics load its interfaces, which do nothing. */
const OPEN_TELEMETRY = /@opentelemetry\/(?!api\/)[a-z-]+/;

/** CPU of API and worker, in seconds, and their checkouts. */
type Measured = { readonly cpuSeconds: number; readonly checkouts: number };

/** An API and a worker of their own. Both sides share the Temporal server and the sandbox. */
type Side = { readonly api: MeasuredProcess; readonly worker: MeasuredProcess; readonly till: Till };

/**
 * Measures the CPU of API and worker for a paid checkout with traces, exported by the default share, and without. The
 * sides take turns, in a new random order each time. Two programs that do the same differ by up to three percent for as
 * long as they run, so the bench starts new ones again and again.
 */
export async function benchTraces({
  quick,
  seed,
}: {
  readonly quick: boolean;
  readonly seed: number;
}): Promise<boolean> {
  const { pairs, rounds, checkouts } = quick ? QUICK : FULL;
  const random = randomOf(seed);
  const store = new TraceStore();
  const engine = await Engine.start();
  const endpoint = await store.start();
  const [withTraces, without]: [Measured[], Measured[]] = [[], []];
  const loaded = new Set<string>();
  try {
    for (let pair = 1; pair <= pairs; pair += 1) {
      print(`traces: pair ${pair} of ${pairs}`);
      const measured = await measurePair(engine, endpoint, { rounds, checkouts }, random);
      withTraces.push(measured.withTraces);
      without.push(measured.without);
      for (const name of measured.loaded) loaded.add(name);
    }
    const cpuMs = (done: readonly Measured[]): number =>
      (1_000 * sum(done.map(({ cpuSeconds }) => cpuSeconds))) / sum(done.map((one) => one.checkouts));
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
        value: store.spans / (pairs * (WARM_UP_ROUNDS + rounds) * checkouts),
        unit: '',
        digits: 2,
        bound: { atLeast: quick ? 0 : 0.1 },
      },
      {
        name: 'packages of OpenTelemetry that API and worker load without traces',
        value: loaded.size,
        unit: '',
        bound: { atMost: 0 },
      },
    ];
    return await report('traces', results, {
      pairs,
      rounds,
      checkouts,
      seed,
      withTraces,
      without,
      loaded: [...loaded],
    });
  } finally {
    await engine.stop();
    store.stop();
  }
}

/** Starts a new API and worker for each side, measures them in turns, and ends them. */
async function measurePair(
  engine: Engine,
  endpoint: string,
  { rounds, checkouts }: { readonly rounds: number; readonly checkouts: number },
  random: Random,
) {
  const sides = new Map<'withTraces' | 'without', Side>();
  try {
    for (const name of shuffled(['withTraces', 'without'] as const, random))
      sides.set(
        name,
        await startSide(engine, name, name === 'without' ? {} : { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }),
      );
    for (let round = 1; round <= WARM_UP_ROUNDS; round += 1)
      for (const side of sides.values()) await sell(engine, side, checkouts);
    const measured = { withTraces: { cpuSeconds: 0, checkouts: 0 }, without: { cpuSeconds: 0, checkouts: 0 } };
    for (let round = 1; round <= rounds; round += 1) {
      for (const [name, side] of shuffled([...sides], random)) {
        measured[name].cpuSeconds += await sell(engine, side, checkouts);
        measured[name].checkouts += checkouts;
      }
    }
    const { api, worker } = sides.get('without') as Side;
    return { ...measured, loaded: [...(await api.loaded(OPEN_TELEMETRY)), ...(await worker.loaded(OPEN_TELEMETRY))] };
  } finally {
    for (const { api, worker, till } of sides.values()) {
      await till.close();
      await api.stop();
      await worker.stop();
    }
  }
}

async function startSide(engine: Engine, queue: string, traces: Readonly<Record<string, string>>): Promise<Side> {
  const env = { TEMPORAL_TASK_QUEUE: queue, ...traces };
  const worker = await engine.startWorker(env);
  const api = await engine.startApi(env);
  return { api, worker, till: new Till(api.address) };
}

/**
 * Opens checkouts, pays each at once, and waits until the webhook has revealed the payment.
 * @returns the CPU of API and worker, in seconds
 */
async function sell(engine: Engine, { api, worker, till }: Side, checkouts: number): Promise<number> {
  await engine.sandbox.control('POST', '/webhooks', { url: `${api.address}/webhooks/provider` });
  const cpuSeconds = async (): Promise<number> =>
    sum((await Promise.all([api.usage(), worker.usage()])).map((usage) => usage.cpuSeconds));
  const before = await cpuSeconds();
  await times(checkouts, CALLERS, async () => {
    const checkout = await till.create(newReference());
    await engine.sandbox.call('POST', `/charges/${chargeOf(checkout)}/mark_as_paid`);
    await till.until(checkout, ({ status }) => status === 'paid');
  });
  return (await cpuSeconds()) - before;
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
