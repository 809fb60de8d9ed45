import { setTimeout as sleep } from 'node:timers/promises';
import { chargeOf, newReference, Till, type CheckoutJson } from './checkout/till.js';
import { times, type MeasuredProcess } from './processes.js';
import { print, printTable, report } from './report.js';
import { Engine } from './stack.js';
import { sum } from './statistics.js';

const CALLERS = 8;
const STEPS = 6;
const STEP = 300;
const QUICK_STEP = 50;
/** Checkouts that are opened first, so that every process has compiled its code. */
const WARM_UP = 300;
/** In this time the worker ends the work of a step and frees what it no longer needs. */
const SETTLE_MS = 5_000;
const DAY_S = 86_400;
/** The default of `MAX_CACHED_WORKFLOWS`, 2,000, within 512 MB. */
const MOST_KB = 256;
const MB = 1e6;
const KB = 1e3;

type Reading = { readonly cached: number; readonly rssBytes: number };

/** Measures the memory of a worker per checkout in its cache: first while it waits for its customer, then paid. */
export async function benchCache({ quick }: { readonly quick: boolean }): Promise<boolean> {
  const step = quick ? QUICK_STEP : STEP;
  const engine = await Engine.start();
  const worker = await engine.startWorker({ MAX_CACHED_WORKFLOWS: '100000' });
  // Nothing but the payment changes a checkout.
  const api = await engine.startApi({ POLL_INTERVAL_MS: String(DAY_S * 1_000) });
  const till = new Till(api.address);
  try {
    await open(till, WARM_UP);
    const waiting = [await read(worker, 0)];
    const opened: CheckoutJson[] = [];
    for (let index = 1; index <= STEPS; index += 1) {
      opened.push(...(await open(till, step)));
      waiting.push(await read(worker, index * step));
    }
    await pay(engine, till, opened);
    const paid = await read(worker, opened.length);
    const perWaiting = slopeOf(waiting);
    const perPaid = slopeOf([...waiting.slice(0, 1), paid]);
    print('\nThe memory of the worker\n');
    printTable([['checkouts', 'MB'], ...waiting.map(rowOf), [`${paid.cached} paid`, (paid.rssBytes / MB).toFixed(0)]]);
    const bound = { atMost: MOST_KB };
    const kilobytes = (name: string, bytes: number) => ({
      name,
      value: bytes / KB,
      unit: 'KB',
      ...(!quick && { bound }),
    });
    return await report(
      'cache',
      [
        kilobytes('memory of a checkout that waits for its customer', perWaiting),
        kilobytes('memory of a paid checkout', perPaid),
      ],
      { waiting, paid },
    );
  } finally {
    await till.close();
    await api.stop();
    await worker.stop();
    await engine.stop();
  }
}

async function open(till: Till, count: number): Promise<CheckoutJson[]> {
  const opened: CheckoutJson[] = [];
  await times(count, CALLERS, async () => {
    opened.push(await till.create(newReference(), { expiresIn: DAY_S }));
  });
  return opened;
}

async function pay({ sandbox }: Engine, till: Till, checkouts: readonly CheckoutJson[]): Promise<void> {
  await times(checkouts.length, CALLERS, async (number) => {
    const checkout = checkouts[number - 1];
    if (checkout === undefined) return;
    await sandbox.call('POST', `/charges/${chargeOf(checkout)}/mark_as_paid`);
    await till.until(checkout, ({ status }) => status === 'paid');
  });
}

async function read(worker: MeasuredProcess, cached: number): Promise<Reading> {
  await sleep(SETTLE_MS);
  return { cached, rssBytes: (await worker.usage()).rssBytes };
}

/** Bytes per checkout: the line through the readings with the least squares. */
function slopeOf(readings: readonly Reading[]): number {
  const mean = (of: (reading: Reading) => number): number => sum(readings.map(of)) / readings.length;
  const [cached, bytes] = [mean((one) => one.cached), mean((one) => one.rssBytes)];
  const covariance = mean((one) => (one.cached - cached) * (one.rssBytes - bytes));
  return covariance / mean((one) => (one.cached - cached) ** 2);
}

function rowOf({ cached, rssBytes }: Reading): string[] {
  return [String(cached), (rssBytes / MB).toFixed(0)];
}
