import { isAwaitingPayment, parseInstant, slipReference, type CheckoutStatus } from '@tillflow/domain';
import { AFTERCARE_WORKFLOW, CHECKOUT_WORKFLOW, searchable, searchAttributes } from '@tillflow/workflows';
import type { Place } from '../tills.js';
import type { Window } from './creation-window.js';

/** Selects checkouts. `from` and `to` are ISO 8601, by creation. */
export type CheckoutFilters = {
  /** Only checkouts of this account. */
  readonly account?: string | undefined;
  readonly status?: CheckoutStatus | undefined;
  readonly reference?: string | undefined;
  /** The store's id, null for checkouts without a store; and the till as its requests name it. */
  readonly store?: string | null | undefined;
  readonly terminal?: string | undefined;
  /** Only checkouts at this place, besides the other filters. */
  readonly place?: Place | undefined;
  /** Any reference of the payment, as a customer's slip shows it. */
  readonly payment_reference?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Only checkouts that need a person now, or may need one soon. */
  readonly attention?: boolean | undefined;
};

const { status, reference, store, terminal, createdAt, attention, chargeId, paidAt } = searchAttributes;
/** One value for both open statuses: only the memo distinguishes them. */
const OPEN = `${status.name} = 'awaiting_payment'`;
const IS_CHECKOUT = `WorkflowType IN ('${CHECKOUT_WORKFLOW}', '${AFTERCARE_WORKFLOW}')`;
const NOT_CONTINUED = `ExecutionStatus != 'ContinuedAsNew'`;
const RUNNING = `ExecutionStatus = 'Running'`;

/** A part of a list, found by one search query. */
export type Part = {
  readonly isOpen: boolean;
  /** The query finds every run of a checkout, or none. */
  readonly hasAllRuns: boolean;
  /**
   * @param window by creation, in whole seconds: a database may store times as text, where fractions do not compare.
   */
  query(window: Window): string;
};

/**
 * The parts of a list in their order: open checkouts, then all checkouts. The caller leaves out of the second part what
 * the first part has shown. A run that continued as new is the same checkout as the run after it.
 */
export function partsOf(filters: CheckoutFilters): readonly Part[] {
  const { status: wanted } = filters;
  if (wanted !== undefined) {
    return [part(filters, hasStatus(wanted), false)];
  }
  return [part(filters, OPEN, true), part(filters, null, false)];
}

function part(filters: CheckoutFilters, condition: string | null, isOpen: boolean): Part {
  const common = [IS_CHECKOUT, NOT_CONTINUED, ...selectedBy(filters), ...(condition === null ? [] : [condition])];
  return {
    isOpen,
    // A payment changes these attributes, so an older run may lack them.
    hasAllRuns: condition === null && filters.attention !== true && filters.payment_reference === undefined,
    query: (window) =>
      [
        ...common,
        ...(window.from === null ? [] : [`${createdAt.name} >= ${at(window.from)}`]),
        ...(window.to === null ? [] : [`${createdAt.name} < ${at(window.to)}`]),
      ].join(' AND '),
  };
}

/** The conditions of all filters except `status`. */
function selectedBy(filters: CheckoutFilters): readonly string[] {
  const { from, to, payment_reference: slip } = filters;
  return [
    ...(filters.account === undefined ? [] : [ofAccount(filters.account)]),
    ...(filters.reference === undefined ? [] : [`${reference.name} = '${filters.reference}'`]),
    ...atPlace(filters),
    ...(slip === undefined ? [] : [`${chargeId.name} = '${searchable(slipReference(slip))}'`]),
    ...(from === undefined ? [] : [`${createdAt.name} >= ${at(seconds(from))}`]),
    ...(to === undefined ? [] : [`${createdAt.name} < ${at(seconds(to) + 1)}`]),
    ...(filters.attention === true ? [`${attention.name} IS NOT NULL`] : []),
  ];
}

function ofAccount(account: string): string {
  return `WorkflowId STARTS_WITH 'checkout/${account}/'`;
}

function hasStatus(wanted: CheckoutStatus): string {
  return isAwaitingPayment(wanted) ? OPEN : `${status.name} = '${wanted}'`;
}

/** The checkouts of a list whose workflow runs on this task queue. */
export function runningWhere(filters: CheckoutFilters, taskQueue: string): string {
  const { status: wanted } = filters;
  const ofStatus = wanted === undefined ? [] : [hasStatus(wanted)];
  return [IS_CHECKOUT, RUNNING, `TaskQueue = '${taskQueue}'`, ...selectedBy(filters), ...ofStatus].join(' AND ');
}

function atPlace(filters: Pick<CheckoutFilters, 'store' | 'terminal' | 'place'>): string[] {
  const { stores = null, terminals = null } = filters.place ?? {};
  return [
    ...(filters.store === undefined ? [] : [inStores([filters.store])]),
    ...(filters.terminal === undefined ? [] : [atTerminals([filters.terminal])]),
    ...(stores === null ? [] : [inStores(stores)]),
    ...(terminals === null ? [] : [atTerminals(terminals)]),
  ];
}

function inStores(ids: readonly (string | null)[]): string {
  const named = ids.filter((id) => id !== null);
  const conditions = [
    ...(named.length === 0 ? [] : [isOneOf(store.name, named)]),
    ...(named.length === ids.length ? [] : [`${store.name} IS NULL`]),
  ];
  return conditions.length === 1 ? conditions.join('') : `(${conditions.join(' OR ')})`;
}

function atTerminals(names: readonly string[]): string {
  return isOneOf(terminal.name, names.map(searchable));
}

function isOneOf(attribute: string, values: readonly string[]): string {
  return values.length === 1
    ? `${attribute} = '${values[0]}'`
    : `${attribute} IN (${values.map((value) => `'${value}'`).join(', ')})`;
}

function seconds(time: string): number {
  return Math.floor(parseInstant(time) / 1_000);
}

/** @param time in seconds */
function at(time: number): string {
  return `'${new Date(time * 1_000).toISOString()}'`;
}

/** Checkouts whose workflow runs on this task queue: open ones, and paid ones for a year. */
export function runningCheckouts(
  taskQueue: string,
  condition: { readonly status: CheckoutStatus } | 'attention',
): string {
  const which = condition === 'attention' ? `${attention.name} IS NOT NULL` : `${status.name} = '${condition.status}'`;
  return [IS_CHECKOUT, RUNNING, `TaskQueue = '${taskQueue}'`, which].join(' AND ');
}

/**
 * Workflows of this task queue whose code fails repeatedly: they make no progress until the code is fixed. Works only
 * with a server that records it (`reportedProblemsSearchAttribute`).
 */
export function stuckWorkflows(taskQueue: string): string {
  return [`TaskQueue = '${taskQueue}'`, RUNNING, 'TemporalReportedProblems IS NOT NULL'].join(' AND ');
}

/** Open checkouts of an account that have one of these charges. @param ids letters, digits and underscores only */
export function openCheckoutsOfCharges(ids: readonly string[], account: string): string {
  return [
    IS_CHECKOUT,
    RUNNING,
    ofAccount(account),
    `${chargeId.name} IN (${ids.map((id) => `'${id}'`).join(', ')})`,
  ].join(' AND ');
}

export type PaidFilters = Pick<CheckoutFilters, 'store' | 'terminal'>;

/**
 * Checkouts of one task queue that were paid from `from` on and before `to`, in milliseconds.
 * @param payments.taskQueue two stacks may share a namespace, and each has its own provider.
 */
export function paidCheckouts({
  from,
  to,
  taskQueue,
  ...filters
}: PaidFilters & {
  readonly from: number;
  readonly to: number;
  readonly taskQueue: string;
}): string {
  const instantOf = (time: number): string => `'${new Date(time).toISOString()}'`;
  return [
    IS_CHECKOUT,
    NOT_CONTINUED,
    `TaskQueue = '${taskQueue}'`,
    `${paidAt.name} >= ${instantOf(from)}`,
    `${paidAt.name} < ${instantOf(to)}`,
    ...atPlace(filters),
  ].join(' AND ');
}
