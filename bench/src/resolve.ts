import { execFile } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { promisify } from 'node:util';
import { chargeOf, newReference, Till } from './checkout/till.js';
import { times } from './processes.js';
import { print, report } from './report.js';
import { programOf } from './sandbox-process.js';
import { Engine, TASK_QUEUE } from './stack.js';

const FULL = 10_000;
const QUICK = 200;
const CALLERS = 8;
const DAY_S = 86_400;
const MOST_OUTPUT_BYTES = 10_000_000;
/** 10,000 stuck checkouts in at most ten minutes. Source: issue "What a shop needs". */
const BOUND = { atMost: 600 } as const;

/** Measures how long `tillflow resolve --query` takes for checkouts that were paid without a sign of it. */
export async function benchResolve({ quick }: { readonly quick: boolean }): Promise<boolean> {
  const count = quick ? QUICK : FULL;
  const engine = await Engine.start();
  const worker = await engine.startWorker();
  const day = String(DAY_S * 1_000);
  const api = await engine.startApi({ POLL_INTERVAL_MS: day, RELAXED_POLL_INTERVAL_MS: day });
  const till = new Till(api.address);
  try {
    print(`resolve: opening ${count} checkouts`);
    await engine.sandbox.control('POST', '/webhooks', { drop: 1 });
    await times(count, CALLERS, async () => {
      const checkout = await till.create(newReference(), { expiresIn: DAY_S });
      await engine.sandbox.call('POST', `/charges/${chargeOf(checkout)}/mark_as_paid`);
    });
    const began = performance.now();
    const { asked, resolved } = await askAll(engine);
    const seconds = (performance.now() - began) / 1_000;
    if (asked !== count || resolved !== count) throw new Error(`${resolved} of ${asked} are resolved, not ${count}`);
    return await report(
      'resolve',
      [
        { name: `${count} stuck checkouts`, value: seconds, unit: 's', digits: 1, ...(!quick && { bound: BOUND }) },
        { name: '  checkouts each second', value: count / seconds, unit: '/s', digits: 1 },
      ],
      { count, seconds },
    );
  } finally {
    await till.close();
    await api.stop();
    await worker.stop();
    await engine.stop();
  }
}

/** Runs the operators' command at its default rate. */
async function askAll({ tree, server }: Engine): Promise<{ readonly asked: number; readonly resolved: number }> {
  const look = ['resolve', '--query', 'status=awaiting_payment', '--look', '--reason', 'bench', '--json'];
  const { stdout } = await promisify(execFile)(process.execPath, [programOf(tree, 'cli'), ...look], {
    env: { PATH: process.env['PATH'], TEMPORAL_ADDRESS: server.address, TEMPORAL_TASK_QUEUE: TASK_QUEUE },
    maxBuffer: MOST_OUTPUT_BYTES,
  });
  return JSON.parse(stdout) as { readonly asked: number; readonly resolved: number };
}
