import { print } from '../report.js';
import { kindOf } from './billed-actions.js';
import { bytesOf, settledRunsOf, type RunHistory } from './histories.js';
import { bareLane, terminateAll, type BareForm } from './lanes.js';
import type { BenchStack } from './stack.js';

/** The bare shape's history may be larger or smaller than the checkout's by this part of it. */
const ALIKE = 0.15;

/**
 * Runs the bare shape once and compares its histories with those of the checkout it was read off.
 * @returns in how many events they differ; each is printed.
 * @throws {Error} when they differ in size.
 */
export async function compareBare(stack: BenchStack, form: BareForm, real: readonly RunHistory[]): Promise<number> {
  const { temporal } = stack;
  const { workflowId } = await bareLane(stack, form, 0).once();
  if (workflowId === null) throw new Error('The bare shape has no workflow');
  const own = await settledRunsOf(temporal, workflowId);
  await terminateAll(temporal.client, [workflowId]);
  const [wanted, found] = [linesOf(real), linesOf(own)];
  const differences = Array.from({ length: Math.max(wanted.length, found.length) }, (_, i) => i).filter(
    (i) => wanted[i] !== found[i],
  );
  for (const i of differences)
    print(`  event ${i + 1}: checkout ${wanted[i] ?? 'none'}, bare shape ${found[i] ?? 'none'}`);
  const [bytes, ownBytes] = [bytesOf(real), bytesOf(own)];
  print(`  bare shape: ${found.length} events, ${ownBytes} bytes; the checkout's ${wanted.length}, ${bytes}`);
  if (Math.abs(ownBytes / bytes - 1) > ALIKE) throw new Error('The bare shape is not as large as a checkout');
  return differences.length;
}

function linesOf(runs: readonly RunHistory[]): string[] {
  return runs.flatMap(({ events }, run) => events.map((event) => `${run + 1}. ${kindOf(event)}`));
}
