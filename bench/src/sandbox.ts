import { performance } from 'node:perf_hooks';
import { print, report } from './report.js';
import { SandboxProcess } from './sandbox-process.js';
import { median, percentile } from './statistics.js';

/** As many calls are on the wire at one time. */
const CONNECTIONS = 16;
const PAYMENT = 'amount=150000&currency=THB';
const NEW_SOURCE = `${PAYMENT}&type=wallet_mpm`;
const NEW_CHARGE = `${PAYMENT}&source%5Btype%5D=wallet_mpm&description=Order&metadata%5Border%5D=7`;

const WARM_UP_MS = 3_000;
const ROUNDS = 5;
const ROUND_MS = 2_000;
/** Bounds what a fast machine does in a round. */
const ROUND_CHECKOUTS = 20_000;

const FEW = 1_000;
const MANY = 100_000;
const FILL_MS = 240_000;
/** Pages of each kind from each of the two sandboxes. */
const PAGES = 400;
const WARM_UP_PAGES = 100;
const PAGE_SIZE = 20;

const MEGABYTE = 1_000_000;

/** Source: issue "The sandbox": what must hold. */
const TARGETS = { requestsPerSecond: 2_000, megabytes: 600, pageRatio: 1.5 } as const;

type Round = {
  readonly requests: number;
  readonly perSecond: number;
  readonly perCpuSecond: number;
};

type PageCost = {
  readonly page: string;
  readonly fewMs: number;
  readonly manyMs: number;
  readonly fewP95Ms: number;
  readonly manyP95Ms: number;
  readonly ratio: number;
};

/** Speed on one core, memory with many charges, and what a page of a list costs then. */
export async function benchSandbox(): Promise<boolean> {
  const rounds = await measureSpeed();
  const few = await SandboxProcess.start(CONNECTIONS);
  const many = await SandboxProcess.start(CONNECTIONS);
  try {
    await fill(few, FEW);
    const memory = await fill(many, MANY);
    const pages = await measurePages(few, many);
    const perCpuSecond = median(rounds.map((round) => round.perCpuSecond));
    return await report(
      'sandbox',
      [
        {
          name: 'source + charge + retrieve, per core',
          value: perCpuSecond,
          unit: 'requests/CPU s',
          target: { atLeast: TARGETS.requestsPerSecond },
        },
        {
          name: '  as seen by the caller, both on this machine',
          value: median(rounds.map((round) => round.perSecond)),
          unit: 'requests/s',
        },
        { name: '  CPU of a request', value: 1_000 / perCpuSecond, unit: 'ms', digits: 3 },
        {
          name: `${MANY.toLocaleString('en-US')} charges, half of them paid: memory at most`,
          value: memory.peakBytes / MEGABYTE,
          unit: 'MB RSS',
          target: { atMost: TARGETS.megabytes },
        },
        { name: '  when they were made', value: memory.endBytes / MEGABYTE, unit: 'MB RSS' },
        {
          name: `page of ${PAGE_SIZE} at ${MANY.toLocaleString('en-US')} to ${FEW.toLocaleString('en-US')} charges, worst`,
          value: Math.max(...pages.map(({ ratio }) => ratio)),
          unit: '× the time',
          digits: 2,
          target: { atMost: TARGETS.pageRatio },
        },
        ...pages.map(({ page, ratio, fewMs, manyMs }) => ({
          name: `  ${page}: ${fewMs.toFixed(2)} ms to ${manyMs.toFixed(2)} ms`,
          value: ratio,
          unit: '×',
          digits: 2,
        })),
      ],
      { rounds, memory, pages },
    );
  } finally {
    await Promise.all([few.stop(), many.stop()]);
  }
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
  return { requests, perSecond: requests / seconds, perCpuSecond: requests / cpuSeconds };
}

/** Create source, create charge, retrieve it, again and again. @returns how often. */
async function checkoutsFor(sandbox: SandboxProcess, ms: number, most: number): Promise<number> {
  const end = performance.now() + ms;
  let done = 0;
  await inParallel(async () => {
    while (done < most && performance.now() < end) {
      done += 1;
      const source = idIn(await sandbox.call('POST', '/sources', NEW_SOURCE));
      const charge = idIn(await sandbox.call('POST', '/charges', `${PAYMENT}&source=${source}`));
      await sandbox.call('GET', `/charges/${charge}`);
    }
  });
  return done;
}

/** Charges with a description and metadata, every second one paid. */
async function fill(sandbox: SandboxProcess, charges: number): Promise<{ peakBytes: number; endBytes: number }> {
  const end = performance.now() + FILL_MS;
  let begun = 0;
  let peakBytes = 0;
  const look = async (): Promise<number> => {
    const { rssBytes } = await sandbox.usage();
    peakBytes = Math.max(peakBytes, rssBytes);
    return rssBytes;
  };
  await inParallel(async () => {
    while (begun < charges) {
      begun += 1;
      const number = begun;
      const id = idIn(await sandbox.call('POST', '/charges', NEW_CHARGE));
      if (number % 2 === 0) await sandbox.call('POST', `/charges/${id}/mark_as_paid`);
      if (performance.now() > end) throw new Error(`only ${number} of ${charges} charges in ${FILL_MS} ms`);
      if (number % 2_000 === 0) await look();
      if (number % 20_000 === 0) print(`memory: ${number} of ${charges} charges`);
    }
  });
  return { endBytes: await look(), peakBytes };
}

/** Both sandboxes in turn, page by page, so that whatever else the machine does strikes both alike. */
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
    const times: { few: number[]; many: number[] } = { few: [], many: [] };
    for (let i = 0; i < WARM_UP_PAGES + PAGES; i += 1) {
      const [fewMs, manyMs] = [await timeOf(few, paths.few), await timeOf(many, paths.many)];
      if (i < WARM_UP_PAGES) continue;
      times.few.push(fewMs);
      times.many.push(manyMs);
    }
    const [fewMs, manyMs] = [median(times.few), median(times.many)];
    const [fewP95Ms, manyP95Ms] = [percentile(times.few, 0.95), percentile(times.many, 0.95)];
    costs.push({ page, fewMs, manyMs, fewP95Ms, manyP95Ms, ratio: manyMs / fewMs });
  }
  return costs;
}

async function timeOf(sandbox: SandboxProcess, path: string): Promise<number> {
  const began = performance.now();
  const text = await sandbox.call('GET', path);
  const took = performance.now() - began;
  const { data } = JSON.parse(text) as { data: unknown[] };
  if (data.length !== PAGE_SIZE) throw new Error(`${path} has ${data.length} records`);
  return took;
}

async function middleOf(sandbox: SandboxProcess, charges: number): Promise<string> {
  const text = await sandbox.call('GET', `/charges?limit=1&offset=${charges / 2}`);
  const { data } = JSON.parse(text) as { data: { created_at: string }[] };
  const [middle] = data;
  if (middle === undefined) throw new Error('the list is empty');
  return middle.created_at;
}

async function inParallel(work: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: CONNECTIONS }, async () => await work()));
}

/** The id at the beginning of a record, found without reading all of it. */
function idIn(text: string): string {
  const [, id] = /"id":"(\w+)"/.exec(text) ?? [];
  if (id === undefined) throw new Error(`no id in ${text}`);
  return id;
}
