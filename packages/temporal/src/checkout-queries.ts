import { formatInstant, isAwaitingPayment, parseInstant, type CheckoutStatus } from '@tillflow/domain';
import { AFTERCARE_WORKFLOW, CHECKOUT_WORKFLOW, searchAttributes } from '@tillflow/workflows';

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

/**
 * The searches in Temporal's visibility that find these checkouts, to be read one after the other: open ones, then
 * those that ended. A run that continued as new is one and the same checkout.
 */
export function checkoutQueries(filters: CheckoutFilters): readonly string[] {
  const common = [
    OURS,
    NOT_CONTINUED,
    ...(filters.reference === undefined ? [] : [`${reference.name} = '${filters.reference}'`]),
    ...(filters.from === undefined ? [] : [`${createdAt.name} >= '${formatInstant(parseInstant(filters.from))}'`]),
    ...(filters.to === undefined ? [] : [`${createdAt.name} <= '${formatInstant(parseInstant(filters.to))}'`]),
    ...(filters.attention === true ? [`${attention.name} IS NOT NULL`] : []),
  ];
  return byStatus(filters).map((condition) => [...common, condition].join(' AND '));
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
  const at = (time: number): string => `'${new Date(time).toISOString()}'`;
  return [
    OURS,
    NOT_CONTINUED,
    `TaskQueue = '${taskQueue}'`,
    `${paidAt.name} >= ${at(from)}`,
    `${paidAt.name} < ${at(to)}`,
  ].join(' AND ');
}

function byStatus({ status: wanted }: CheckoutFilters): readonly string[] {
  if (wanted === undefined) return [OPEN, `${status.name} != 'awaiting_payment'`];
  return [isAwaitingPayment(wanted) ? OPEN : `${status.name} = '${wanted}'`];
}
