import { checkoutWorkflowId, DEFAULT_ACCOUNT } from '@tillflow/domain';
import { machineLine, print, printTable, report } from '../report.js';
import { byPart, Stack, type Part } from '../stack.js';
import { percentile, randomOf, sum, type Random } from '../statistics.js';
import { inputBytesOf, memoBytesOf, shapeOf } from './baseline/shape.js';
import { countResults, growthResults, speedResults, validityResults } from './bounds.js';
import { bytesOf, kindOf, settledRunsOf, type RunHistory } from './histories.js';
import { openPaidCheckouts } from './open-checkouts.js';
import { answeredMs, cpuOf, hasCpu, rateOf } from './round.js';
import { FULL, measureSpeed, QUICK, warmUp, type Cell, type Plan } from './speed.js';
import { chargeOf, newReference, Till } from './till.js';
import { bareVariant, terminateAll, type BareForm } from './variants.js';

const SHARES = [0.5, 0.95, 0.99] as const;
const CPU_PARTS: readonly Part[] = ['server', 'worker', 'baseline', 'api', 'sandbox', 'load'];
/** The bytes of the bare shape's history may differ from those of a checkout by this share. */
const BYTES_TOLERANCE = 0.15;

/** Compares checkouts with their baselines, among none and among many open ones, in one run on one server. */
export async function benchCheckout({ quick, seed }: { quick: boolean; seed: number }): Promise<boolean> {
  const plan = quick ? QUICK : FULL;
  const random = randomOf(seed);
  print(`checkout: ${machineLine()}, seed ${seed}${quick ? ', quick: the figures mean little' : ''}`);
  const stack = await Stack.start();
  const till = new Till(stack.apiUrl);
  try {
    print('one paid checkout, and the bare shape read from its history');
    const model = await payOne(stack, till);
    const form = bareFormOf(model);
    const differences = await compareBare(stack, form, model);
    print('warming up');
    await warmUp(stack, till, form, plan);
    const counted = await Promise.all(Array.from({ length: plan.counted }, () => payOne(stack, till)));

    print('speed with none open');
    const none = await measureSpeed(stack, till, form, plan, random);
    printSpeed(none, 0);
    const many = await measureAmongMany(stack, till, form, model, plan, random);
    const results = [
      ...speedResults(none, 0, random),
      ...speedResults(many, plan.open, random),
      ...growthResults(none, many, plan.open, random),
      ...countResults(counted),
      ...validityResults([...none, ...many], differences),
    ];
    return await report('checkout', results, { seed, plan, none: none.map(summaryOf), many: many.map(summaryOf) });
  } finally {
    await till.close();
    await stack.stop();
  }
}

async function measureAmongMany(
  stack: Stack,
  till: Till,
  form: BareForm,
  paid: readonly RunHistory[],
  plan: Plan,
  random: Random,
): Promise<readonly Cell[]> {
  const model = paid.at(-1);
  if (model === undefined || !model.isOpen) throw new Error('A paid checkout has no open run');
  print(`\nstarting ${plan.open} runs of ${model.type}`);
  await openPaidCheckouts(stack, model, plan.open);
  print(`speed with ${plan.open} open`);
  const cells = await measureSpeed(stack, till, form, plan, random);
  printSpeed(cells, plan.open);
  return cells;
}

/** Runs a checkout until it is paid. @returns its runs, the open one last. */
async function payOne({ temporal, sandbox }: Stack, till: Till): Promise<RunHistory[]> {
  const reference = newReference();
  const opened = await till.create(reference);
  await sandbox.control('POST', `/charges/${chargeOf(opened)}/mark`, { status: 'successful' });
  await till.until(opened.id, ({ status }) => status === 'paid');
  return settledRunsOf(temporal, checkoutWorkflowId({ account: DEFAULT_ACCOUNT, reference }));
}

function bareFormOf(paid: readonly RunHistory[]): BareForm {
  const [first] = paid;
  if (first === undefined) throw new Error('There is no paid checkout to read the bare shape from');
  return { steps: shapeOf(paid), inputBytes: inputBytesOf(first), memoBytes: memoBytesOf(first) };
}

/**
 * Runs the bare shape once and compares its events with those of the checkout. Prints each difference.
 * @returns the number of events that differ.
 * @throws {Error} when the bytes differ by more than {@link BYTES_TOLERANCE}.
 */
async function compareBare(
  { temporal }: Pick<Stack, 'temporal'>,
  form: BareForm,
  paid: readonly RunHistory[],
): Promise<number> {
  const { workflowId } = await bareVariant({ temporal }, form, 0).once();
  if (workflowId === null) throw new Error('The bare shape has no workflow');
  const own = await settledRunsOf(temporal, workflowId);
  await terminateAll(temporal.client, [workflowId]);
  const kindsOf = (runs: readonly RunHistory[]): string[] =>
    runs.flatMap(({ events }, run) => events.map((event) => `${run + 1}. ${kindOf(event)}`));
  const [wanted, found] = [kindsOf(paid), kindsOf(own)];
  const longest = wanted.length > found.length ? wanted : found;
  const different = [...longest.keys()].filter((i) => wanted[i] !== found[i]);
  for (const i of different)
    print(`  event ${i + 1}: checkout ${wanted[i] ?? 'none'}, bare shape ${found[i] ?? 'none'}`);
  const [bytes, ownBytes] = [bytesOf(paid), bytesOf(own)];
  print(`  bare shape: ${found.length} events, ${ownBytes} bytes; checkout: ${wanted.length} events, ${bytes} bytes`);
  if (Math.abs(ownBytes / bytes - 1) > BYTES_TOLERANCE) throw new Error('The bare shape and a checkout differ in size');
  return different.length;
}

/** The summary of a cell, for the file. */
function summaryOf({ rounds, ...conditions }: Cell): object {
  return {
    ...conditions,
    perSecond: rateOf(rounds),
    answeredMs: percentilesOf(answeredMs(rounds)),
    cpuMs: hasCpu(rounds) ? byPart((part) => cpuOf(rounds, [part])) : null,
    rounds: rounds.map((round) => ({
      operations: round.samples.length,
      perSecond: rateOf([round]),
      othersCores: round.othersCores,
      failures: round.failures,
    })),
  };
}

function printSpeed(cells: readonly Cell[], open: number): void {
  print(`\nSpeed with ${open} open. Times in ms, CPU in ms per operation. One at a time, the variants took turns.\n`);
  const header = ['', 'provider', 'at once', 'per s', 'n', 'QR p50', 'p95', 'p99'];
  const rows = cells.map(({ variant, delayMs, concurrency, rounds }) => [
    variant,
    `${delayMs} ms`,
    String(concurrency),
    rateOf(rounds).toFixed(1),
    String(answeredMs(rounds).length),
    ...percentilesOf(answeredMs(rounds)).map((ms) => ms.toFixed(1)),
    ...CPU_PARTS.map((part) => (hasCpu(rounds) ? cpuOf(rounds, [part]).toFixed(1) : '')),
  ]);
  printTable([[...header, ...CPU_PARTS.map((part) => `${part} CPU`)], ...rows], (column) => column > 0);
  const others = cells.flatMap(({ rounds }) => rounds.flatMap(({ othersCores }) => othersCores ?? []));
  if (others.length === 0) return;
  const mean = sum(others) / others.length;
  print(`  other processes used ${mean.toFixed(2)} cores on average, at most ${Math.max(...others).toFixed(2)}`);
}

function percentilesOf(sample: readonly number[]): readonly number[] {
  return sample.length === 0 ? [] : SHARES.map((share) => percentile(sample, share));
}
