import { createHash, randomUUID } from 'node:crypto';
import type { SignalDefinition } from '@temporalio/common';
import { isAwaitingPayment, isPaid } from '@tillflow/domain';
import {
  cancelRequest,
  newAttemptRequest,
  refundRequest,
  withTraceparent,
  type Attributed,
  type NewAttemptRequest,
  type RefundRequest,
} from '@tillflow/workflows';
import type { Temporal } from '../connection/connection.js';
import { encodeToPayloads } from '../connection/sdk-internals.js';
import { untraced, WORKFLOW_ID } from '../traces/traced-calls.js';
import { newestAttempt, type StoredCheckout } from './checkout-workflow.js';

/** A request to a checkout as a signal, which Temporal stores. */
export type DurableRequest = {
  readonly signal: string;
  readonly content: unknown;
  /** Two requests with the same identity are one request, whichever process sends them. */
  readonly identity: readonly (string | number | null)[];
};

/**
 * While the newest attempt is open, all cancels are one request, named by that attempt. On an ended checkout, each cancel
 * is a request of its own, because it may be about an attempt that the memo does not show yet.
 * @returns null when the checkout is paid: a cancel changes nothing.
 */
export function durableCancel(stored: StoredCheckout, request: Attributed): DurableRequest | null {
  const { status } = stored.state;
  if (isPaid(status)) return null;
  const identity = isAwaitingPayment(status) ? [newestAttempt(stored)] : [randomUUID()];
  return durable(cancelRequest, request, identity);
}

/**
 * A refused refund may be requested again once the checkout has changed.
 * @returns null once the checkout shows the refund.
 */
export function durableRefund({ refunds, version }: StoredCheckout, request: RefundRequest): DurableRequest | null {
  const { key, amount } = request;
  if (refunds.some((refund) => refund.key === key)) return null;
  return durable(refundRequest, request, [key, amount, version]);
}

/**
 * Attempt `after` + 1 may be requested again once attempt `after` is shown. @returns null once the attempt is shown.
 */
export function durableAttempt(stored: StoredCheckout, request: NewAttemptRequest): DurableRequest | null {
  const newest = newestAttempt(stored);
  return newest > request.after ? null : durable(newAttemptRequest, request, [request.after, newest]);
}

function durable<T>(signal: SignalDefinition<[T]>, request: T, identity: DurableRequest['identity']): DurableRequest {
  return { signal: signal.name, content: request, identity };
}

/**
 * Sends a signal that the server stores once in a run of the workflow, however often it is sent: the server recognizes
 * its request id. The client's own `signal` uses a new id each time.
 * @throws what Temporal's service throws; NOT_FOUND when no run is open.
 */
export function sendOnce(
  { client, trace = untraced }: Pick<Temporal, 'client' | 'trace'>,
  workflowId: string,
  { signal, content, identity: requestIdentity }: DurableRequest,
): Promise<void> {
  return trace(`SignalWorkflow:${signal}`, { [WORKFLOW_ID]: workflowId }, async (traceparent) => {
    const { namespace, identity, loadedDataConverter } = client.workflow.options;
    await client.workflowService.signalWorkflowExecution({
      namespace,
      identity,
      workflowExecution: { workflowId },
      // Hashed, because Temporal stores it unencrypted and it may contain a caller's key.
      requestId: createHash('sha256')
        .update(JSON.stringify([signal, ...requestIdentity]))
        .digest('base64url'),
      signalName: signal,
      input: { payloads: (await encodeToPayloads(loadedDataConverter, content)) ?? null },
      ...(traceparent === undefined ? {} : { header: { fields: withTraceparent({}, traceparent) } }),
    });
  });
}
