import { machineLine, print, writeResult } from '../report.js';
import { randomOf } from '../statistics.js';
import { isMet, printVerdicts, type Verdict } from '../verdicts.js';
import { openAftercare } from './aftercare.js';
import { ApiClient } from './api-client.js';
import { countOfKind, KINDS, runsOfKind, type CountOfKind } from './counts.js';
import type { RunHistory } from './histories.js';
import { inputBytesOf, memoBytesOf, shapeOf } from './floors/shape-of.js';
import { compareBare } from './bare-check.js';
import type { BareForm } from './lanes.js';
import { FULL, QUICK, type Plan } from './plan.js';
import { printCounts, printReads, printSizes, printSpeed, summaryOf } from './print.js';
import { measureReads } from './reads.js';
import { sizeOf, type Size } from './size.js';
import { measureSpeed, warmUp, type Speed } from './speed.js';
import { BenchStack } from './stack.js';
import { countVerdicts, growthVerdicts, soundnessVerdicts, speedVerdicts } from './targets.js';
import { newReference, openCheckout } from './till.js';

type Options = { readonly quick: boolean; readonly seed: number };

/** What a checkout costs against what nothing costs, among none and among many, all in one run on one server. */
export async function benchCheckout({ quick, seed }: Options): Promise<boolean> {
  const plan = quick ? QUICK : FULL;
  const random = randomOf(seed);
  print(`checkout: ${machineLine()}, seed ${seed}${quick ? ', quick: the figures mean little' : ''}`);
  const stack = await BenchStack.start();
  const api = new ApiClient(stack.apiUrl);
  try {
    print('one paid checkout, and the bare shape read off it');
    const [paid = []] = await runsOfKind(stack, api, 'paid', 1);
    const form = bareFormOf(paid);
    const differences = await compareBare(stack, form, paid);

    print('warming up, and histories of every kind, some of which expire after a minute');
    const counting = countKinds(stack, api, plan.counted);
    // Waited for later: what fails before must not leave this failure without a listener.
    counting.catch(() => undefined);
    await warmUp(stack, api, form, plan);
    print('speed with none open');
    const none = await measureSpeed(stack, api, form, plan, random);
    printSpeed(none, 0);
    const counts = await counting;
    printCounts(counts);
    const { many, size } = await amongMany(stack, api, form, paid.at(-1), plan, random);

    print('\nreads');
    const reads = await measureReads(stack, api, plan);
    print('unpaid checkouts');
    const unpaid = await sizeOf(stack, plan.unpaid, () => openUnpaid(api, plan.unpaid));
    printReads(reads);
    printSizes(size, unpaid);

    const verdicts: readonly Verdict[] = [
      ...speedVerdicts(none, 0, random),
      ...(many === null
        ? []
        : [...speedVerdicts(many, plan.open, random), ...growthVerdicts(none, many, plan.open, random)]),
      ...counts.filter(({ kind }) => kind === 'paid').flatMap(countVerdicts),
      ...soundnessVerdicts(failuresOf(none) + (many === null ? 0 : failuresOf(many)), differences),
    ];
    printVerdicts(verdicts);
    await writeResult('checkout', {
      seed,
      plan,
      counts,
      none: summaryOf(none),
      many: many === null ? null : summaryOf(many),
      reads,
      size,
      unpaid,
      verdicts: verdicts.map((verdict) => ({ ...verdict, met: isMet(verdict) })),
    });
    return verdicts.every(isMet);
  } finally {
    await api.close();
    await stack.stop();
  }
}

/** The second half: the same among many open ones. Nothing where a paid checkout leaves none open. */
async function amongMany(
  stack: BenchStack,
  api: ApiClient,
  form: BareForm,
  model: RunHistory | undefined,
  plan: Plan,
  random: () => number,
): Promise<{ readonly many: Speed | null; readonly size: Size | null }> {
  if (model === undefined || !model.isOpen) return { many: null, size: null };
  print(`\nopening ${plan.open} runs of ${model.type}`);
  const size = await sizeOf(stack, plan.open, () => openAftercare(stack, model, plan.open));
  print(`speed with ${plan.open} open`);
  const many = await measureSpeed(stack, api, form, plan, random);
  printSpeed(many, plan.open);
  return { many, size };
}

async function countKinds(stack: BenchStack, api: ApiClient, each: number): Promise<CountOfKind[]> {
  const counts = await Promise.all(
    KINDS.map(async (kind) => {
      const all = await runsOfKind(stack, api, kind, each);
      return all.length === 0 ? [] : [countOfKind(kind, all)];
    }),
  );
  return counts.flat();
}

function bareFormOf(paid: readonly RunHistory[]): BareForm {
  const [first] = paid;
  if (first === undefined) throw new Error('No paid checkout to read the bare shape off');
  return { steps: shapeOf(paid), inputBytes: inputBytesOf(first), memoBytes: memoBytesOf(first) };
}

const UNPAID_AT_ONCE = 10;

async function openUnpaid(api: ApiClient, count: number): Promise<void> {
  let begun = 0;
  await Promise.all(
    Array.from({ length: UNPAID_AT_ONCE }, async () => {
      while (begun < count) {
        begun += 1;
        await openCheckout(api, newReference());
      }
    }),
  );
}

function failuresOf({ cells }: Speed): number {
  return cells.reduce((sum, { rounds }) => sum + rounds.reduce((all, { failures }) => all + failures.length, 0), 0);
}
