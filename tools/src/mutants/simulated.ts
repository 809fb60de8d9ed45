import { readFile } from 'node:fs/promises';
import { Clone, ROOT, writePage } from './clone.js';
import { MUTANTS, type Mutant } from './list.js';

const PAGE = 'docs/simulation.md';
/** The table follows this heading. */
const HEADING = '## Mutants';
const SEED = 20_261_126;
/** A mutant with which so many lives are right survives. Each script comes at least once among them. */
const LIVES = 1_700;

/** The code that decides about money within a checkout. A simulation has one account, no endpoint, and no SDK. */
const MONEY = [
  'packages/workflows/src/checkout/model/charges',
  'packages/workflows/src/checkout/model/checkout-model.ts',
  'packages/workflows/src/checkout/model/projection.ts',
  'packages/workflows/src/checkout/model/refunds/refunding.ts',
  'packages/workflows/src/checkout/model/refunds/matching.ts',
  'packages/workflows/src/checkout/model/refunds/returns.ts',
  'packages/workflows/src/shared',
  'packages/domain/src/refund.ts',
  'packages/domain/src/charge.ts',
  'packages/domain/src/windows.ts',
  'packages/payments-client/src/http/decision.ts',
  'packages/payments-client/src/http/retry-policy.ts',
  'packages/payments-client/src/webhooks.ts',
  'apps/worker/src/activities',
  'apps/worker/src/checkout',
];

/** No call of a life meets it: the client repeats no request of a checkout after an unknown outcome. */
const IN_NO_LIFE: ReadonlySet<string> = new Set(['refusal-settles-unknown']);

const MODEL = 'packages/workflows/src/checkout/model';
const SHARED = 'packages/workflows/src/shared';
type Defect = Omit<Mutant, 'tests'> & {
  /** Two layers stop the same mistake: these mutants break both. */
  readonly layers?: readonly [string, string];
  /** Options of the simulation: it needs combinations that are rare otherwise. */
  readonly focus?: readonly string[];
};

const options = (name: string, parts: readonly string[]): string[] => parts.flatMap((part) => [`--${name}`, part]);
const LAGGING_LISTS = [
  ...options('fault', ['lists without the newest', 'answer of a change lost', 'change made, then hangs']),
  ...options('action', ['waits', 'refunds a part']),
];

/**
 * Defects that were in Tillflow once, and that the mutants of {@link MONEY} do not have, and rules that two layers keep.
 */
export const FIXED: readonly Defect[] = [
  {
    id: 'renewed-task-goes-on',
    breaks: 'a workflow task that was renewed during a local call goes on',
    file: `${SHARED}/local-call.ts`,
    from: 'this.#begunIn === workflowInfo().historyLength',
    to: 'this.#begunIn <= workflowInfo().historyLength',
  },
  {
    id: 'failed-call-of-a-renewed-task-goes-on',
    breaks: 'a workflow task that was renewed during a local call goes on when the call fails',
    file: `${SHARED}/local-call.ts`,
    from: '      // The tries of a call that fails may take longer than a task, too.\n      this.#mustBeAsInAReplay();\n',
    to: '',
    focus: ['--fault', 'without CPU', '--action', 'refunds'],
  },
  {
    id: 'message-before-a-renewal',
    breaks: 'a task that is carried out again, and that was renewed after a message, goes on',
    file: 'packages/workflows/src/checkout/handlers.ts',
    from: '    this.localCalls.readsClock();\n    change();\n',
    to: '    change();\n',
    focus: options('fault', ['without CPU', 'frozen', 'slow read']),
  },
  {
    id: 'abandoned-refund-frees-its-amount',
    breaks: 'a refund that is given up while it may take effect does not reserve its amount',
    file: `${MODEL}/refunds/refunds.ts`,
    from: 'inFlightUntil !== null && now < inFlightUntil)',
    to: 'inFlightUntil !== null && now < 0)',
    focus: [
      ...options('fault', ['change made, then hangs', 'answer of a change lost', 'takes effect late']),
      ...options('action', ['gives up', 'refunds a part']),
    ],
  },
  {
    id: 'unlisted-refund-is-absent',
    breaks: 'a refund is absent when it is not listed, although the charge shows its amount as refunded',
    file: `${MODEL}/refunds/refunding.ts`,
    from: 'Math.max(charge.refunded, refundedAmount) <= listed',
    to: 'refundedAmount >= 0',
    focus: LAGGING_LISTS,
  },
  {
    id: 'abandoned-refund-forgotten',
    breaks: 'the charge of a refund that was given up is not retrieved once more',
    file: `${MODEL}/refunds/refunding.ts`,
    from: 'Math.max(inProgress.inFlightUntil, now));\n      this.charges.checkForLateRefund(now, entry.chargeId);',
    to: 'Math.max(inProgress.inFlightUntil, now));',
    focus: [
      ...options('fault', ['listed without keys', 'answer of a change lost', 'change made, then hangs']),
      ...options('action', ['gives up', 'refunds a part']),
    ],
  },
  {
    ...mutantOf('refund-on-its-way-refused'),
    focus: [
      ...options('fault', ['worker: killed', 'worker: frozen', 'without CPU', 'api-engine: answer lost', 'task lost']),
      ...options('action', ['refunds twice with one key', 'refunds all']),
    ],
  },
  {
    id: 'failed-local-call-fails-the-checkout',
    breaks: 'a local call that fails ends the workflow instead of the lookup',
    file: `${SHARED}/activity-options.ts`,
    from: 'const cause = failure instanceof ActivityFailure ? failure.cause : failure;',
    to: 'if (!(failure instanceof ActivityFailure)) throw failure;\n  const { cause } = failure;',
  },
  {
    id: 'retries-end-by-the-clock',
    breaks: 'the retries of a call to Temporal end by the clock, which can be set back',
    file: 'packages/temporal/src/connection/retries.ts',
    from: 'performance.now() + pauseMs < endsAt',
    to: 'Date.now() + pauseMs < Number(options.deadline)',
    focus: [...options('fault', ['clock: API behind', 'engine: restarts']), '--action', 'refunds all'],
  },
  {
    id: 'refund-in-another-currency',
    breaks: 'a refund that is listed in another currency is believed',
    file: `${MODEL}/refunds/matching.ts`,
    from: 'facts.otherCurrency !== undefined',
    to: '(false as boolean)',
  },
  {
    id: 'refund-mismatch-stays',
    breaks: 'the attention of a refund in another currency stays when it is listed right, and was made twice',
    file: `${MODEL}/refunds/refunding.ts`,
    from: "attentions.settle('integrity_mismatch', refundId);",
    to: "attentions.settle('integrity_mismatch', awaited === undefined ? 'none' : refundId);",
    focus: ['--fault', 'refunds listed in another currency', '--fault', 'takes effect too late'],
  },
  mutantOf('first-memo-keeps-its-version'),
  {
    id: 'other-charge-raises-no-attention',
    breaks: 'no attention is raised when the provider shows another charge than the one that is retrieved',
    file: `${MODEL}/charges/charges.ts`,
    from: 'if (isDisbelieved(why)) {',
    to: 'if ((false as boolean) && isDisbelieved(why)) {',
  },
  {
    id: 'unconfirmed-start-forgotten',
    breaks: 'a start that Temporal does not confirm is not sent again, although its till was answered 202',
    file: 'apps/api/src/checkouts/starts.ts',
    from: 'void this.#startUntilConfirmed(start);',
    to: '',
  },
  {
    id: 'voidable-before-its-payment',
    breaks: 'a payment after its cut-off is voidable by a clock that is behind',
    file: 'packages/domain/src/windows.ts',
    from: 'until !== null && now < until',
    to: 'now < (until ?? paidAt)',
  },
  {
    ...mutantOf('contradiction-believed'),
    id: 'other-charge-believed-twice',
    breaks: 'neither the client nor the model compares which charge an answer is about',
    layers: ['contradiction-believed', 'believe-other-charge'],
    focus: ['--fault', 'read shows another charge'],
  },
  {
    ...mutantOf('mismatched-refund-is-absent'),
    id: 'mismatched-refund-made-again',
    breaks:
      'a refund that is listed in another currency is made again although the charge shows its amount as refunded',
    layers: ['mismatched-refund-is-absent', 'unlisted-refund-is-absent'],
  },
  {
    ...mutantOf('one-lookup-proves-absence'),
    id: 'absence-believed-twice',
    breaks: 'one lookup proves absence, also while the call can still take effect',
    layers: ['one-lookup-proves-absence', 'absence-while-in-flight'],
    focus: ['--fault', 'change made, then hangs', '--fault', 'takes effect late', '--action', 'refunds a part'],
  },
];

/** What mutants of `pnpm mutants` need. */
const FOCUS: Readonly<Record<string, readonly string[]>> = {
  'unused-source-is-absence': LAGGING_LISTS,
  'keyless-refund-counts': [
    ...options('fault', ['listed without keys', 'answer of a change lost', 'change made, then hangs']),
    ...options('action', ['refunds a part']),
  ],
  'implausible-time-believed': ['--fault', 'impossible time of payment'],
  'believe-other-source': ['--fault', 'shows another source'],
  'old-webhook-accepted': ['--action', 'false webhook'],
  'refunded-twice-hidden': ['--fault', 'takes effect too late', '--action', 'refunds a part'],
};

function mutantOf(wanted: string, among: readonly Defect[] = MUTANTS): Defect {
  const mutant = among.find(({ id }) => id === wanted);
  if (mutant === undefined) throw new Error(`No mutant ${wanted}`);
  return mutant;
}

type Found = {
  readonly mutant: Defect;
  /** What failed first; null: every life is right. */
  readonly what: string | null;
  /** How many lives ended until then. */
  readonly lives: string;
};

/** @param parts of ids; none: all of them, and the page is written @returns whether the simulation finds every mutant */
export async function measureSimulated(parts: readonly string[]): Promise<boolean> {
  const all: readonly Defect[] = [
    ...FIXED,
    ...MUTANTS.filter(({ id, file }) => !IN_NO_LIFE.has(id) && MONEY.some((path) => file.startsWith(path))),
  ];
  const chosen = all.filter(({ id }) => parts.length === 0 || parts.some((part) => id.includes(part)));
  const clone = await Clone.create();
  try {
    const results: Found[] = [];
    for (const mutant of chosen) {
      const result = await find(clone, mutant);
      results.push(result);
      console.log(
        `${result.what === null ? 'SURVIVES' : 'found   '}  ${mutant.id}  ${result.lives}  ${result.what ?? ''}`,
      );
    }
    if (parts.length === 0) await writeTable(results);
    return results.every(({ what }) => what !== null);
  } finally {
    await clone.remove();
  }
}

async function find(clone: Clone, mutant: Defect): Promise<Found> {
  const restore = await clone.apply(mutant);
  const second = mutant.layers?.[1];
  const restoreSecond = second === undefined ? null : await clone.apply(mutantOf(second, [...MUTANTS, ...FIXED]));
  try {
    const { output, isRight } = await clone.simulate(SEED, LIVES, mutant.focus ?? FOCUS[mutant.id] ?? []);
    const lives = /, (\d+) lives in/.exec(output)?.[1] ?? 'the first';
    if (isRight) return { mutant, what: null, lives };
    const what = /broken: guarantee (.*)/.exec(output)?.[1] ?? /Error: (.*)/.exec(output)?.[1] ?? 'the run stops';
    return { mutant, what: what.slice(0, 160), lives };
  } finally {
    await restoreSecond?.();
    await restore();
  }
}

async function writeTable(results: readonly Found[]): Promise<void> {
  const page = await readFile(`${ROOT}${PAGE}`, 'utf8');
  const [before = ''] = page.split(HEADING);
  const cell = (text: string): string => text.replaceAll('|', String.raw`\|`);
  const found = results.filter(({ what }) => what !== null);
  const pairOf = (id: string): string | undefined =>
    found.find(({ mutant }) => mutant.layers?.includes(id) === true)?.mutant.id;
  const missed = results.filter(({ what }) => what === null);
  const behindLayer = missed.filter(({ mutant: { id } }) => pairOf(id) !== undefined).length;
  const rows = results.map(({ mutant: { id, breaks }, what, lives }) => {
    const pair = pairOf(id);
    const notFound = pair === undefined ? '**not found**' : `with its second layer: ${pair}`;
    return `| ${id} | ${breaks} | ${what === null ? notFound : lives} | ${cell(what ?? '')} |`;
  });
  const table = [
    HEADING,
    '',
    `\`pnpm mutants simulated\` breaks one rule about money at a time, and runs up to ${LIVES} lives of seed ${SEED} until one`,
    `fails. It writes this table. The simulation finds ${found.length} of ${results.length}. ${behindLayer} more have a second layer that stops the mistake, and`,
    'the simulation finds them when both are broken.',
    ...(missed.length === behindLayer
      ? []
      : ['A test of `pnpm test` finds each of the others: [mutants.md](mutants.md).']),
    '',
    '| Mutant | What it breaks | Lives until it is found | What is broken first: the guarantee, the checkout |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
  ];
  await writePage(PAGE, `${before}${table.join('\n')}`);
}
