import { formatInstant, isAwaitingPayment, parseInstant } from '@tillflow/domain';
import { searchAttributes } from '@tillflow/workflows';
import { Problem } from '../problems/problem.js';
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

export function writeCursor(token: Uint8Array): string {
  return Buffer.from(token).toString('base64url');
}

/** @throws {Problem} `invalid_request` when the text is not base64url. */
export function readCursor(cursor: string): Uint8Array {
  if (!/^[A-Za-z0-9_-]+$/.test(cursor)) throw new Problem('invalid_request', 'The cursor is not one of ours');
  return Buffer.from(cursor, 'base64url');
}
