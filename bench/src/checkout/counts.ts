import { fastForward } from '@tillflow/tools';
import { AFTERCARE_WORKFLOW } from '@tillflow/workflows';
import type { Stack } from '../stack.js';
import { sum } from '../statistics.js';
import { billedActions, bytesOf, kindOf, settledRunsOf, type HistoryEvent, type RunHistory } from './histories.js';
import type { Till } from './till.js';
import { openCheckout, payCheckout } from './variants.js';

/** The runs of one paid checkout, the oldest first. */
export type Counted = {
  /** Soon after the payment. */
  readonly paid: readonly RunHistory[];
  /** Two days later. */
  readonly dayAfter: readonly RunHistory[];
};

/** Later than the void cut-off, and than the hours after it in which a checkout continues as aftercare. */
const TWO_DAYS_MS = 2 * 86_400_000;

/** Runs a checkout until it is paid, and then through the night by the server's time skipping. */
export async function countOne(stack: Pick<Stack, 'temporal' | 'sandbox'>, till: Till): Promise<Counted> {
  const { checkout, workflowId } = await openCheckout(till, 1);
  await payCheckout(stack, till, checkout, 1);
  const paid = await settledRunsOf(stack.temporal, workflowId);
  await fastForward(stack.temporal, workflowId, TWO_DAYS_MS);
  return { paid, dayAfter: await settledRunsOf(stack.temporal, workflowId) };
}

/** The kinds of event with which a checkout shows that it is paid. */
const SHOWS_PAID: ReadonlySet<string> = new Set(['upsertWorkflowSearchAttributes', 'workflowExecutionContinuedAsNew']);
/** The bench's own way through the night. */
const TIME_SKIPPING: ReadonlySet<string> = new Set([
  'workflowExecutionOptionsUpdated',
  'workflowExecutionTimeSkippingTransitioned',
]);

type Run = Pick<RunHistory, 'type' | 'events'>;
const isAftercare = ({ type }: Run): boolean => type === AFTERCARE_WORKFLOW;
const eventsIn = (runs: readonly Run[]): HistoryEvent[] =>
  runs.flatMap(({ events }) => events.filter((event) => !TIME_SKIPPING.has(kindOf(event))));

/** Events of a checkout until it shows that it is paid. @param paid its runs. */
export function eventsUntilPaid(paid: readonly Run[]): readonly HistoryEvent[] {
  const events = eventsIn(paid.filter((run) => !isAftercare(run)));
  return events.slice(0, events.findIndex((event) => SHOWS_PAID.has(kindOf(event))) + 1);
}

/** What paid checkouts cost; of several, the largest figure. */
export function costOf(all: readonly Counted[]): Readonly<Record<keyof typeof COSTS, number>> {
  const most = (cost: (one: Counted) => number): number => Math.max(...all.map(cost));
  return {
    events: most(COSTS.events),
    bytes: most(COSTS.bytes),
    billed: most(COSTS.billed),
    billedWithNight: most(COSTS.billedWithNight),
    billedDayAfter: most(COSTS.billedDayAfter),
    openBytes: most(COSTS.openBytes),
    openEvents: most(COSTS.openEvents),
  };
}

const openIn = (runs: readonly RunHistory[]): RunHistory[] => runs.filter((run) => isAftercare(run) && run.isOpen);

const COSTS = {
  /** Until it is paid. */
  events: ({ paid }: Counted) => eventsUntilPaid(paid).length,
  /** Of the runs before aftercare, soon after the payment. */
  bytes: ({ paid }: Counted) => bytesOf(paid.filter((run) => !isAftercare(run))),
  /** Until it is paid. */
  billed: ({ paid }: Counted) => billedActions(eventsUntilPaid(paid)),
  /** With the continue-as-new of the night. */
  billedWithNight: ({ dayAfter }: Counted) =>
    sum(dayAfter.filter((run) => !isAftercare(run)).map((run) => billedActions(eventsIn([run])))),
  /** With what the aftercare run has done by the day after: its timer. */
  billedDayAfter: ({ dayAfter }: Counted) => sum(dayAfter.map((run) => billedActions(eventsIn([run])))),
  /** Of the open run the day after. Without an open run, no bound counts as met. */
  openBytes: ({ dayAfter }: Counted) => bytesOf(openIn(dayAfter)) || Infinity,
  openEvents: ({ dayAfter }: Counted) => eventsIn(openIn(dayAfter)).length,
} as const;
