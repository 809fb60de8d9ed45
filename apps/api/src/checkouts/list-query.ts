import { formatInstant, isAwaitingPayment, parseInstant } from '@tillflow/domain';
import { searchAttributes } from '@tillflow/workflows';
import type { ListCheckouts } from './checkouts.schema.js';

type Filters = Omit<ListCheckouts, 'limit' | 'cursor'>;

/** The search in Temporal's visibility that finds these checkouts. A run that continued as new is one and the same. */
export function listQuery({ status, reference, from, to }: Filters): string {
  const { status: checkoutStatus, reference: checkoutReference, createdAt } = searchAttributes;
  return [
    `WorkflowType IN ('checkout', 'aftercare')`,
    `ExecutionStatus != 'ContinuedAsNew'`,
    ...(status === undefined
      ? []
      : [`${checkoutStatus.name} = '${isAwaitingPayment(status) ? 'awaiting_payment' : status}'`]),
    ...(reference === undefined ? [] : [`${checkoutReference.name} = '${reference}'`]),
    ...(from === undefined ? [] : [`${createdAt.name} >= '${formatInstant(parseInstant(from))}'`]),
    ...(to === undefined ? [] : [`${createdAt.name} <= '${formatInstant(parseInstant(to))}'`]),
  ].join(' AND ');
}
