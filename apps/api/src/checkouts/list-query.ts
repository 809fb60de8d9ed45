import { formatInstant, isAwaitingPayment, parseInstant } from '@tillflow/domain';
import { AFTERCARE_WORKFLOW, CHECKOUT_WORKFLOW, searchAttributes } from '@tillflow/workflows';
import type { ListCheckouts } from './checkouts.schema.js';

type Filters = Omit<ListCheckouts, 'limit' | 'cursor'>;

const { status, reference, createdAt } = searchAttributes;
/** One value for both open states: the step from creating is read from the memo. */
const OPEN = `${status.name} = 'awaiting_payment'`;

/**
 * The searches in Temporal's visibility that find these checkouts, to be read one after the other: open ones, then
 * those that ended. A run that continued as new is one and the same checkout.
 */
export function listQueries(filters: Filters): readonly string[] {
  const common = [
    `WorkflowType IN ('${CHECKOUT_WORKFLOW}', '${AFTERCARE_WORKFLOW}')`,
    `ExecutionStatus != 'ContinuedAsNew'`,
    ...(filters.reference === undefined ? [] : [`${reference.name} = '${filters.reference}'`]),
    ...(filters.from === undefined ? [] : [`${createdAt.name} >= '${formatInstant(parseInstant(filters.from))}'`]),
    ...(filters.to === undefined ? [] : [`${createdAt.name} <= '${formatInstant(parseInstant(filters.to))}'`]),
  ];
  return byStatus(filters).map((condition) => [...common, condition].join(' AND '));
}

function byStatus({ status: wanted }: Filters): readonly string[] {
  if (wanted === undefined) return [OPEN, `${status.name} != 'awaiting_payment'`];
  return [isAwaitingPayment(wanted) ? OPEN : `${status.name} = '${wanted}'`];
}
