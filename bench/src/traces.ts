import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { chargeOf, newReference, Till } from './checkout/till.js';
import { MeasuredProcess, times } from './processes.js';
import { print, ratio, report } from './report.js';
import { Engine } from './stack.js';
import { randomOf, ratioOf, shuffled, sum, type Random } from './statistics.js';

/** New programs, the rounds of each side in each of them, and the paid checkouts of a round. */
const FULL = { programs: 2, rounds: 20, checkouts: 150 };
const QUICK = { programs: 1, rounds: 2, checkouts: 20 };
/** The first rounds of each side, which do not count: a program loads and compiles its code only once. */
const WARM_UP_ROUNDS = 3;
const CALLERS = 8;
/** The spans of a round are exported in the same round: earlier than by default, so more often. Milliseconds. */
const EXPORT_AFTER_MS = 2_500;
const EXPORTED_AFTER_MS = 2_900;
const PROGRAMS = fileURLToPath(new URL('traces-programs.js', import.meta.url));
/** The packages of OpenTelemetry. Metrics load its interfaces, which do nothing. */
const OPEN_TELEMETRY = /@opentelemetry\/(?!api\/)[a-z-]+/;

/** CPU of API and worker, in seconds, and their checkouts. */
type Measured = { readonly cpuSeconds: number; readonly checkouts: number };

/**
 * Measures the CPU of API and worker for a paid checkout with traces, exported by the default share, and without. Two
 * processes that do the same differ by several percent for as long as they run. So both sides are in one process, each with an
 * API and a worker of its own. They take turns, in a new random order each time. What both sides pay is in both figures: polls,
 * and memory that one side has left for the other one to collect.
 */
export async function benchTraces({
  quick,
  seed,
}: {
  readonly quick: boolean;
  readonly seed: number;
}): Promise<boolean> {
  const { programs, rounds, checkouts } = quick ? QUICK : FULL;
  const random = randomOf(seed);
  const store = new TraceStore();
  const engine = await Engine.start();
  const endpoint = await store.start();
  const withTraces: Measured[] = [];
  const without: Measured[] = [];
  try {
    for (let program = 1; program <= programs; program += 1) {
      print(`traces: program ${program} of ${programs}`);
      const first = program % 2 === 1 ? 'with' : 'without';
      const measured = await measureProgram(engine, endpoint, { rounds, checkouts, first }, random);
      withTraces.push(...measured.withTraces);
      without.push(...measured.without);
    }
    const loaded = await loadedWithout(engine);
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
        value: store.spans / (programs * (WARM_UP_ROUNDS + rounds) * checkouts),
        unit: '',
        digits: 2,
        bound: { atLeast: quick ? 0 : 0.05 },
      },
      {
        name: 'packages of OpenTelemetry that API and worker load without traces',
        value: loaded.length,
        unit: '',
        bound: { atMost: 0 },
      },
    ];
    return await report('traces', results, { programs, rounds, checkouts, seed, withTraces, without, loaded });
  } finally {
    await engine.stop();
    store.stop();
  }
}

/** Starts a new program with both sides, measures them in turns, and ends it. */
async function measureProgram(
  engine: Engine,
  endpoint: string,
  {
    rounds,
    checkouts,
    first,
  }: { readonly rounds: number; readonly checkouts: number; readonly first: 'with' | 'without' },
  random: Random,
) {
  const program = await MeasuredProcess.start(PROGRAMS, /^programs ready (\S+)$/, {
    ...engine.apiSettings(),
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_BSP_SCHEDULE_DELAY: String(EXPORT_AFTER_MS),
    FIRST: first,
  });
  const measured = { withTraces: [] as Measured[], without: [] as Measured[] };
  const [traced = '', untraced = ''] = program.address.split(',');
  const sides = [
    { till: new Till(traced), address: traced, rounds: measured.withTraces },
    { till: new Till(untraced), address: untraced, rounds: measured.without },
  ];
  try {
    for (let round = 1 - WARM_UP_ROUNDS; round <= rounds; round += 1) {
      for (const side of shuffled(sides, random)) {
        const { cpuSeconds: before } = await program.usage();
        await sell(engine, side, checkouts);
        await sleep(EXPORTED_AFTER_MS);
        const { cpuSeconds: after } = await program.usage();
        if (round > 0) side.rounds.push({ cpuSeconds: after - before, checkouts });
      }
    }
    return measured;
  } finally {
    for (const { till } of sides) await till.close();
    await program.stop();
  }
}

/** What API and worker load when they have no traces. They are processes of their own, and have sold. */
async function loadedWithout(engine: Engine): Promise<string[]> {
  const worker = await engine.startWorker();
  const api = await engine.startApi();
  const till = new Till(api.address);
  try {
    await sell(engine, { till, address: api.address }, CALLERS);
    return [...(await api.loaded(OPEN_TELEMETRY)), ...(await worker.loaded(OPEN_TELEMETRY))];
  } finally {
    await till.close();
    await api.stop();
    await worker.stop();
  }
}

/** Opens checkouts, pays each at once, and waits until the webhook has revealed the payment. */
async function sell(
  engine: Engine,
  { address, till }: { readonly address: string; readonly till: Till },
  checkouts: number,
): Promise<void> {
  await engine.sandbox.control('POST', '/webhooks', { url: `${address}/webhooks/provider` });
  await times(checkouts, CALLERS, async () => {
    const checkout = await till.create(newReference());
    await engine.sandbox.call('POST', `/charges/${chargeOf(checkout)}/mark_as_paid`);
    await till.until(checkout, ({ status }) => status === 'paid');
  });
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
