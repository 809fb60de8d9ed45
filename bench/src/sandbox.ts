import { performance } from 'node:perf_hooks';
import { times } from './processes.js';
import { print, report, type Result } from './report.js';
import { idIn, SandboxProcess } from './sandbox-process.js';
import { median } from './statistics.js';

/** Calls in progress at one time. */
const CONNECTIONS = 16;
const PAYMENT = 'amount=150000&currency=THB';
const NEW_SOURCE = `${PAYMENT}&type=wallet_mpm`;
const NEW_CHARGE = `${PAYMENT}&source%5Btype%5D=wallet_mpm&description=Order&metadata%5Border%5D=7`;

const WARM_UP_MS = 3_000;
const ROUNDS = 5;
const ROUND_MS = 2_000;
/** Limits the memory that a fast machine fills in a round. */
const ROUND_CHECKOUTS = 20_000;

const FEW = 1_000;
const MANY = 100_000;
const FILL_MS = 240_000;
/** Pages of each kind that are read from each of the two sandboxes. */
const PAGES = 400;
const WARM_UP_PAGES = 100;
const PAGE_SIZE = 20;
const MEGABYTE = 1_000_000;

/** Source: issue "The sandbox". */
const BOUNDS = { requestsPerSecond: { atLeast: 2_000 }, megabytes: { atMost: 600 }, pageRatio: { atMost: 1.5 } };

type Round = { readonly perSecond: number; readonly perCpuSecond: number };
type Memory = { readonly peakBytes: number; readonly endBytes: number };
type PageCost = {
  readonly page: string;
  readonly fewMs: number;
  readonly manyMs: number;
  readonly ratio: number;
};

/** Measures the speed on one core, the memory for many charges, and the time of a page of a long list. */
export async function benchSandbox(): Promise<boolean> {
  const rounds = await measureSpeed();
  const few = await SandboxProcess.start(CONNECTIONS);
  const many = await SandboxProcess.start(CONNECTIONS);
  try {
    await fill(few, FEW);
    const memory = await fill(many, MANY);
    const pages = await measurePages(few, many);
    return await report('sandbox', resultsOf(rounds, memory, pages), { rounds, memory, pages });
  } finally {
    await Promise.all([few.stop(), many.stop()]);
  }
}

function resultsOf(rounds: readonly Round[], memory: Memory, pages: readonly PageCost[]): Result[] {
  const perCpuSecond = median(rounds.map((round) => round.perCpuSecond));
  const [many, few] = [MANY, FEW].map((count) => count.toLocaleString('en-US'));
  return [
    {
      name: 'source + charge + retrieve, per core',
      value: perCpuSecond,
      unit: 'requests/CPU s',
      bound: BOUNDS.requestsPerSecond,
    },
    {
      name: '  as seen by the caller, both on this machine',
      value: median(rounds.map((round) => round.perSecond)),
      unit: 'requests/s',
    },
    { name: '  CPU of a request', value: 1_000 / perCpuSecond, unit: 'ms', digits: 3 },
    {
      name: `${many} charges, half of them paid: memory at most`,
      value: memory.peakBytes / MEGABYTE,
      unit: 'MB RSS',
      bound: BOUNDS.megabytes,
    },
    { name: '  when they were made', value: memory.endBytes / MEGABYTE, unit: 'MB RSS' },
    {
      name: `page of ${PAGE_SIZE} at ${many} to ${few} charges, worst`,
      value: Math.max(...pages.map(({ ratio }) => ratio)),
      unit: '× the time',
      digits: 2,
      bound: BOUNDS.pageRatio,
    },
    ...pages.map(({ page, ratio, fewMs, manyMs }) => ({
      name: `  ${page}: ${fewMs.toFixed(2)} ms to ${manyMs.toFixed(2)} ms`,
      value: ratio,
      unit: '×',
      digits: 2,
    })),
  ];
}

async function measureSpeed(): Promise<Round[]> {
  const sandbox = await SandboxProcess.start(CONNECTIONS);
  try {
    print('speed: warming up');
    await checkoutsFor(sandbox, WARM_UP_MS, Infinity);
    const rounds: Round[] = [];
    for (let i = 1; i <= ROUNDS; i += 1) {
      const round = await measureRound(sandbox);
      rounds.push(round);
      print(`speed: round ${i} of ${ROUNDS}, ${Math.round(round.perCpuSecond)} requests per CPU second`);
    }
    return rounds;
  } finally {
    await sandbox.stop();
  }
}

async function measureRound(sandbox: SandboxProcess): Promise<Round> {
  const cpuBefore = (await sandbox.usage()).cpuSeconds;
  const began = performance.now();
  const requests = 3 * (await checkoutsFor(sandbox, ROUND_MS, ROUND_CHECKOUTS));
  const seconds = (performance.now() - began) / 1_000;
  const cpuSeconds = (await sandbox.usage()).cpuSeconds - cpuBefore;
  return { perSecond: requests / seconds, perCpuSecond: requests / cpuSeconds };
}

/** Creates a source, creates a charge and retrieves it, again and again. @returns how often. */
async function checkoutsFor(sandbox: SandboxProcess, ms: number, most: number): Promise<number> {
  const end = performance.now() + ms;
  let done = 0;
  await times(CONNECTIONS, CONNECTIONS, async () => {
    while (done < most && performance.now() < end) {
      done += 1;
      const source = idIn(await sandbox.call('POST', '/sources', NEW_SOURCE));
      const charge = idIn(await sandbox.call('POST', '/charges', `${PAYMENT}&source=${source}`));
      await sandbox.call('GET', `/charges/${charge}`);
    }
  });
  return done;
}

/** Creates charges with a description and metadata, and marks every second one as paid. */
async function fill(sandbox: SandboxProcess, charges: number): Promise<Memory> {
  const end = performance.now() + FILL_MS;
  let peakBytes = 0;
  const readMemory = async (): Promise<number> => {
    const { rssBytes } = await sandbox.usage();
    peakBytes = Math.max(peakBytes, rssBytes);
    return rssBytes;
  };
  await times(charges, CONNECTIONS, async (number) => {
    const id = idIn(await sandbox.call('POST', '/charges', NEW_CHARGE));
    if (number % 2 === 0) await sandbox.call('POST', `/charges/${id}/mark_as_paid`);
    if (performance.now() > end) throw new Error(`Only ${number} of ${charges} charges were made in ${FILL_MS} ms`);
    if (number % 2_000 === 0) await readMemory();
    if (number % 20_000 === 0) print(`memory: ${number} of ${charges} charges`);
  });
  return { endBytes: await readMemory(), peakBytes };
}

/** Reads pages from both sandboxes in turn, so that a disturbance of the machine affects both. */
async function measurePages(few: SandboxProcess, many: SandboxProcess): Promise<PageCost[]> {
  const kinds: readonly (readonly [page: string, pathOf: (charges: number, middle: string) => string])[] = [
    ['first', () => '/charges'],
    ['in the middle', (charges) => `/charges?offset=${charges / 2}`],
    ['last', (charges) => `/charges?offset=${charges - PAGE_SIZE}`],
    ['newest first', () => '/charges?order=reverse_chronological'],
    ['from a time in the middle', (_, middle) => `/charges?from=${encodeURIComponent(middle)}`],
  ];
  const middles = { few: await middleOf(few, FEW), many: await middleOf(many, MANY) };
  const costs: PageCost[] = [];
  for (const [page, pathOf] of kinds) {
    print(`pages: ${page}`);
    const paths = { few: pathOf(FEW, middles.few), many: pathOf(MANY, middles.many) };
    const took: { few: number[]; many: number[] } = { few: [], many: [] };
    for (let i = 0; i < WARM_UP_PAGES + PAGES; i += 1) {
      const [fewMs, manyMs] = [await timeOf(few, paths.few), await timeOf(many, paths.many)];
      if (i < WARM_UP_PAGES) continue;
      took.few.push(fewMs);
      took.many.push(manyMs);
    }
    const [fewMs, manyMs] = [median(took.few), median(took.many)];
    costs.push({ page, fewMs, manyMs, ratio: manyMs / fewMs });
  }
  return costs;
}

async function timeOf(sandbox: SandboxProcess, path: string): Promise<number> {
  const began = performance.now();
  const text = await sandbox.call('GET', path);
  const ms = performance.now() - began;
  const { data } = JSON.parse(text) as { data: unknown[] };
  if (data.length !== PAGE_SIZE) throw new Error(`${path} has ${data.length} records`);
  return ms;
}

/** The creation time of the charge in the middle of the list. */
async function middleOf(sandbox: SandboxProcess, charges: number): Promise<string> {
  const text = await sandbox.call('GET', `/charges?limit=1&offset=${charges / 2}`);
  const { data } = JSON.parse(text) as { data: { created_at: string }[] };
  const [middle] = data;
  if (middle === undefined) throw new Error('The list of charges is empty');
  return middle.created_at;
}
