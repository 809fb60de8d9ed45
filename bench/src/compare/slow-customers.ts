import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { measure, type Round } from '../checkout/round.js';
import type { Sample } from '../checkout/variants.js';
import { byPart, type Stack } from '../stack.js';
import type { Random } from '../statistics.js';

export type SlowSize = {
  /** Callers that are busy at one time. They do not wait with the customers. */
  readonly concurrency: number;
  /** A customer pays between so many seconds after the QR. */
  readonly paysAfter: readonly [least: number, most: number];
  /** How long it counts, after the first customers have paid. */
  readonly seconds: number;
};

/** The two halves of a checkout. */
export type Halves<Opened> = {
  readonly open: () => Promise<Opened & { readonly answeredMs: number; readonly workflowId: string }>;
  /** @returns the time until the till sees the payment, in milliseconds. */
  readonly pay: (opened: Opened) => Promise<number>;
};

/**
 * Busy callers with customers who take their time. Each caller opens a checkout, then carries out the payment that is
 * due first, and so on: what a customer's wait costs is that the checkout is out of every cache. Opens and payments
 * that begin in the last `seconds` count, paired in their order. Before, there are no payments at first, so callers
 * pause instead.
 */
export async function runSlowRound<Opened>(
  stack: Pick<Stack, 'usage'>,
  { open, pay }: Halves<Opened>,
  { concurrency, paysAfter: [least, most], seconds }: SlowSize,
  random: Random,
): Promise<Round> {
  const began = performance.now();
  const elapsed = (): number => (performance.now() - began) / 1_000;
  const counts = (at: number): boolean => at >= most && at < most + seconds;
  const waiting: { readonly dueAt: number; readonly opened: Opened }[] = [];
  const done = { opened: [] as number[], paid: [] as number[], failures: [] as string[], workflowIds: [] as string[] };

  const openOne = async (): Promise<void> => {
    const at = elapsed();
    const opened = await open();
    done.workflowIds.push(opened.workflowId);
    if (counts(at)) done.opened.push(opened.answeredMs);
    waiting.push({ dueAt: elapsed() + least + uniformFloat64(random) * (most - least), opened });
    waiting.sort((one, other) => one.dueAt - other.dueAt);
  };
  const payNext = async (): Promise<boolean> => {
    const at = elapsed();
    if ((waiting[0]?.dueAt ?? Infinity) > at) return false;
    const next = waiting.shift();
    if (next === undefined) return false;
    const paidMs = await pay(next.opened);
    if (counts(at)) done.paid.push(paidMs);
    return true;
  };
  const caller = async (): Promise<void> => {
    while (elapsed() < most + seconds) {
      const at = elapsed();
      try {
        await openOne();
        const tookMs = (elapsed() - at) * 1_000;
        if (!(await payNext()) && at < most) await sleep(tookMs);
      } catch (error) {
        done.failures.push(error instanceof Error ? error.message : String(error));
        if (done.failures.length > MOST_FAILURES) throw error;
      }
    }
  };
  const cpu = async (): Promise<Pick<Round, 'cpuMs' | 'othersCores'>> => {
    await sleep(most * 1_000);
    const measured = await measure(stack);
    const before = done.paid.length;
    await sleep(seconds * 1_000);
    const { cpu: used, othersCores } = await measured();
    const paid = Math.max(1, done.paid.length - before);
    return { othersCores, cpuMs: byPart((part) => (used[part] * 1_000) / paid) };
  };
  const [usage] = await Promise.all([cpu(), ...Array.from({ length: concurrency }, caller)]);
  const { failures, workflowIds } = done;
  return { ...usage, concurrency, failures, workflowIds, samples: pairsOf(done.opened, done.paid) };
}

const MOST_FAILURES = 20;

/** One sample for each open and payment with the same place in their order. */
function pairsOf(opened: readonly number[], paid: readonly number[]): Sample[] {
  return opened.flatMap((answeredMs, i) =>
    paid.slice(i, i + 1).map((paidMs) => ({ answeredMs, paidMs, totalMs: answeredMs + paidMs })),
  );
}
