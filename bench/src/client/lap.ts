import { performance } from 'node:perf_hooks';
import { percentile } from '../statistics.js';
import type { Contestant } from './contestants.js';
import { PAGE_SIZE, type Operation } from './operations.js';

/** What one contestant does in one round. */
export type Lap = {
  readonly operation: Operation;
  /** Requests under way at one time. */
  readonly concurrency: number;
  /** Not measured: sockets open, code warms up. */
  readonly leadInMs: number;
  readonly ms: number;
};

/** What came of it, lead-in excluded. */
export type LapResult = {
  readonly requests: number;
  readonly perSecond: number;
  readonly p99Ms: number;
  /** Of the contestant's whole process, garbage collection included. */
  readonly cpuMsPerRequest: number;
};

/** Each caller begins its next request when the last is done. */
export async function runLap(
  contestant: Contestant,
  { operation, concurrency, leadInMs, ms }: Lap,
): Promise<LapResult> {
  const call = contestant[operation];
  check(operation, await call());
  await repeat(call, concurrency, leadInMs);

  const cpuBefore = process.cpuUsage();
  const began = performance.now();
  const tookMs = await repeat(call, concurrency, ms);
  const elapsed = performance.now() - began;
  const cpu = process.cpuUsage(cpuBefore);
  return {
    requests: tookMs.length,
    perSecond: tookMs.length / (elapsed / 1_000),
    p99Ms: percentile(tookMs, 0.99),
    cpuMsPerRequest: (cpu.user + cpu.system) / 1_000 / tookMs.length,
  };
}

async function repeat(call: () => Promise<unknown>, concurrency: number, ms: number): Promise<number[]> {
  const end = performance.now() + ms;
  const tookMs: number[] = [];
  const caller = async (): Promise<void> => {
    let began = performance.now();
    do {
      await call();
      const now = performance.now();
      tookMs.push(now - began);
      began = now;
    } while (began < end);
  };
  await Promise.all(Array.from({ length: concurrency }, caller));
  return tookMs;
}

/** A contestant that does not do the work wins nothing. */
function check(operation: Operation, reply: unknown): void {
  const found = reply as { object?: string; data?: { object?: string }[] };
  const isRight =
    operation === 'list'
      ? found.data?.length === PAGE_SIZE && found.data.every(({ object }) => object === 'charge')
      : found.object === 'charge';
  if (!isRight) throw new Error(`${operation} gave something else`);
}
