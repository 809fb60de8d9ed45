import { isAwaitingPayment, parseInstant, type CheckoutStatus } from '@tillflow/domain';
import { AFTERCARE_WORKFLOW, CHECKOUT_WORKFLOW, searchAttributes } from '@tillflow/workflows';
import type { Window } from './created-window.js';

/** Which checkouts are meant. `from` and `to` are ISO 8601, by creation. */
export type CheckoutFilters = {
  readonly status?: CheckoutStatus | undefined;
  readonly reference?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Only those that need a person, or may soon. */
  readonly attention?: boolean | undefined;
};

const { status, reference, createdAt, attention, chargeId, paidAt } = searchAttributes;
/** One value for both open states: the step from creating is read from the memo. */
const OPEN = `${status.name} = 'awaiting_payment'`;
const OURS = `WorkflowType IN ('${CHECKOUT_WORKFLOW}', '${AFTERCARE_WORKFLOW}')`;
const NOT_CONTINUED = `ExecutionStatus != 'ContinuedAsNew'`;
const RUNNING = `ExecutionStatus = 'Running'`;

/** A part of a list: what finds it in Temporal's visibility. */
export type Part = {
  readonly isOpen: boolean;
  /** It finds every run of a checkout, or none. */
  readonly holdsAllRuns: boolean;
  /**
   * @param window by creation, in whole seconds: a store may keep times as text, where fractions do not compare.
   */
  query(window: Window): string;
};

/**
 * The parts of a list, one after the other: open ones, then the others. The second part finds all: which of them were
 * in the first is for the reader to know. A run that continued as new is one and the same checkout.
 */
export function partsOf(filters: CheckoutFilters): readonly Part[] {
  const { status: wanted } = filters;
  if (wanted !== undefined) {
    return [part(filters, isAwaitingPayment(wanted) ? OPEN : `${status.name} = '${wanted}'`, false)];
  }
  return [part(filters, OPEN, true), part(filters, null, false)];
}

function part(filters: CheckoutFilters, condition: string | null, isOpen: boolean): Part {
  const { from, to } = filters;
  const common = [
    OURS,
    NOT_CONTINUED,
    ...(filters.reference === undefined ? [] : [`${reference.name} = '${filters.reference}'`]),
    ...(from === undefined ? [] : [`${createdAt.name} >= ${at(seconds(from))}`]),
    ...(to === undefined ? [] : [`${createdAt.name} < ${at(seconds(to) + 1)}`]),
    ...(filters.attention === true ? [`${attention.name} IS NOT NULL`] : []),
    ...(condition === null ? [] : [condition]),
  ];
  return {
    isOpen,
    holdsAllRuns: condition === null && filters.attention !== true,
    query: (window) =>
      [
        ...common,
        ...(window.from === null ? [] : [`${createdAt.name} >= ${at(window.from)}`]),
        ...(window.to === null ? [] : [`${createdAt.name} < ${at(window.to)}`]),
      ].join(' AND '),
  };
}

function seconds(time: string): number {
  return Math.floor(parseInstant(time) / 1_000);
}

/** @param time in seconds */
function at(time: number): string {
  return `'${new Date(time * 1_000).toISOString()}'`;
}

/** Checkouts whose workflow runs on this task queue: the open ones, and for a year the paid ones. */
export function runningCheckouts(
  taskQueue: string,
  condition: { readonly status: CheckoutStatus } | 'attention',
): string {
  const which = condition === 'attention' ? `${attention.name} IS NOT NULL` : `${status.name} = '${condition.status}'`;
  return [OURS, RUNNING, `TaskQueue = '${taskQueue}'`, which].join(' AND ');
}

/**
 * Workflows of this task queue whose code fails again and again: nothing moves in them until it is mended. Only for a
 * server that writes this down (`reportedProblemsSearchAttribute`).
 */
export function stuckWorkflows(taskQueue: string): string {
  return [`TaskQueue = '${taskQueue}'`, RUNNING, 'TemporalReportedProblems IS NOT NULL'].join(' AND ');
}

/** @param id letters, digits and underscores only. */
export function checkoutOfCharge(id: string): string {
  return [OURS, RUNNING, `${chargeId.name} = '${id}'`].join(' AND ');
}

/**
 * Checkouts of one task queue that were paid from `from` on and before `to`, in milliseconds.
 * @param taskQueue whose checkouts: two stacks may share a namespace, and each has a provider of its own.
 */
export function paidCheckouts(payments: {
  readonly from: number;
  readonly to: number;
  readonly taskQueue: string;
}): string {
  const { from, to, taskQueue } = payments;
  const instantOf = (time: number): string => `'${new Date(time).toISOString()}'`;
  return [
    OURS,
    NOT_CONTINUED,
    `TaskQueue = '${taskQueue}'`,
    `${paidAt.name} >= ${instantOf(from)}`,
    `${paidAt.name} < ${instantOf(to)}`,
  ].join(' AND ');
}
