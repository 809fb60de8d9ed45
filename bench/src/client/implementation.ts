import { performance } from 'node:perf_hooks';
import type { RoundRequest, RoundResult } from './implementation-process.js';
import { IMPLEMENTATIONS, type Implementation, type ImplementationName } from './implementations.js';
import { PAGE_SIZE, type Operation } from './operations.js';

/**
 * The program of one implementation. Arguments: its name and the server's address. It answers each request with a
 * result.
 */

const [name = '', url = ''] = process.argv.slice(2);
const implementation = IMPLEMENTATIONS[name as ImplementationName](url);

// An error ends this process by an unhandled rejection, which the parent reports.
process.on(
  'message',
  (request) => void runRound(implementation, request as RoundRequest).then((result) => process.send?.(result)),
);
// This process must not outlive a bench that was killed.
process.once('disconnect', () => process.exit());

async function runRound(
  from: Implementation,
  { operation, concurrency, leadInMs, ms }: RoundRequest,
): Promise<RoundResult> {
  const call = from[operation];
  check(operation, await call());
  await repeat(call, concurrency, leadInMs);

  const cpuBefore = process.cpuUsage();
  const began = performance.now();
  const requests = await repeat(call, concurrency, ms);
  const elapsed = performance.now() - began;
  const cpu = process.cpuUsage(cpuBefore);
  return {
    perSecond: requests / (elapsed / 1_000),
    cpuMsPerRequest: (cpu.user + cpu.system) / 1_000 / requests,
  };
}

/** Each caller begins its next request when the last is done. @returns the number of requests. */
async function repeat(call: () => Promise<unknown>, concurrency: number, ms: number): Promise<number> {
  const end = performance.now() + ms;
  let requests = 0;
  const caller = async (): Promise<void> => {
    do {
      await call();
      requests += 1;
    } while (performance.now() < end);
  };
  await Promise.all(Array.from({ length: concurrency }, caller));
  return requests;
}

/** @throws {Error} when the implementation did not return what was requested. */
function check(operation: Operation, reply: unknown): void {
  const found = reply as { object?: string; data?: { object?: string }[] };
  const isRight =
    operation === 'list'
      ? found.data?.length === PAGE_SIZE && found.data.every(({ object }) => object === 'charge')
      : found.object === 'charge';
  if (!isRight) throw new Error(`${name} returned something else than the requested ${operation}`);
}
