import { WorkflowNotFoundError, type Client, type WorkflowExecutionDescription } from '@temporalio/client';
import { TypedSearchAttributes, type Payload } from '@temporalio/common';
import { checkoutWorkflowId, formatMoney, type CheckoutKey } from '@tillflow/domain';
import {
  changingAttributes,
  hint,
  initialState,
  searchable,
  searchAttributes,
  type CheckoutIntent,
  type CheckoutMemo,
  type CheckoutState,
  type Hint,
  type PublishedEvents,
  type StoredRefund,
  type TimelineEntry,
} from '@tillflow/workflows';
import { decodeMapFromPayloads } from '../connection/sdk-internals.js';
import { OPENING_EVENTS, readOpening, type HistoryEvent, type HistoryPage } from './opening.js';

/** A checkout as Temporal stores it, in the memo of its workflow. */
export type StoredCheckout = {
  readonly intent: CheckoutIntent;
  readonly state: CheckoutState;
  readonly requestNonce: string;
  readonly timeline: readonly TimelineEntry[];
  readonly refunds: readonly StoredRefund[];
  /** Grows with each change; 0 until the workflow publishes for the first time. */
  readonly version: number;
  readonly events?: PublishedEvents | undefined;
  /** The workflow has ended: it accepts no message and changes nothing. */
  readonly closed: boolean;
};

/**
 * How the workflow of a checkout starts: its id, memo, search attributes and summary. A reference has one workflow, so
 * the same start may be sent any number of times.
 */
export function checkoutStart(memo: CheckoutMemo, taskQueue: string) {
  const { intent } = memo;
  return {
    workflowId: checkoutWorkflowId(intent),
    taskQueue,
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
    memo: { ...memo },
    typedSearchAttributes: attributesOf(memo),
    staticSummary: `${formatMoney(intent)} for ${intent.reference}`,
  } as const;
}

function attributesOf({ intent, state = initialState(intent) }: CheckoutMemo): TypedSearchAttributes {
  const chargeIds = state.attempts.flatMap(({ charge_id: id }) => id ?? []);
  return new TypedSearchAttributes([
    { key: searchAttributes.reference, value: intent.reference },
    { key: searchAttributes.currency, value: intent.currency },
    { key: searchAttributes.amount, value: intent.amount },
    { key: searchAttributes.createdAt, value: new Date(intent.created_at) },
    ...(intent.terminal === null ? [] : [{ key: searchAttributes.terminal, value: searchable(intent.terminal) }]),
    ...(intent.store === undefined ? [] : [{ key: searchAttributes.store, value: intent.store.id }]),
  ]).updateCopy(changingAttributes(state, chargeIds));
}

/**
 * Reads a checkout from its newest run. Needs no worker. Null when there is none. While the workflow writes its first QR
 * code, its history shows it already.
 * @throws {UnreadablePayloadError} when it is encrypted with a key that is not configured.
 */
export async function readCheckout(
  client: Client,
  key: CheckoutKey,
): Promise<{ readonly checkout: StoredCheckout; readonly run: WorkflowExecutionDescription } | null> {
  try {
    const run = await client.workflow.getHandle(checkoutWorkflowId(key)).describe();
    const memo = (isOpening(run) ? await openingOf(client, run) : null) ?? run.memo;
    const checkout = toStored({ memo, isRunning: run.status.name === 'RUNNING' });
    return checkout === null ? null : { checkout, run };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

/** Its workflow has written nothing yet, and its history is long enough to show its first QR code. */
function isOpening({ memo, historyLength, status }: WorkflowExecutionDescription): boolean {
  return status.name === 'RUNNING' && memo?.['state'] === undefined && historyLength >= OPENING_EVENTS.least;
}

async function openingOf(
  { options: { namespace, loadedDataConverter }, workflowService }: Client,
  { workflowId, runId }: WorkflowExecutionDescription,
): Promise<CheckoutMemo | null> {
  const { history } = await workflowService.getWorkflowExecutionHistory({
    namespace,
    execution: { workflowId, runId },
    maximumPageSize: OPENING_EVENTS.most,
  });
  return readOpening(loadedDataConverter, history?.events ?? []);
}

/**
 * Yields the checkout as soon as Temporal has stored that its newest run wrote the memo; at first also what it wrote
 * before. The first QR code shows while the workflow writes it. It waits at the server, so it costs a few short calls
 * for each change. Ends with the run.
 * @param call makes one call, which may take as long as the next event. @throws Temporal's own errors.
 */
export async function* followCheckout(
  client: Client,
  key: CheckoutKey,
  call: <T>(work: () => Promise<T>) => Promise<T>,
): AsyncGenerator<StoredCheckout, void, undefined> {
  const { namespace, loadedDataConverter } = client.options;
  const execution = { workflowId: checkoutWorkflowId(key) };
  const memo: Record<string, Payload> = {};
  const opening: HistoryEvent[] = [];
  let token: Uint8Array | null = null;
  do {
    const nextPageToken: Uint8Array | null = token;
    const page: HistoryPage = await call(() =>
      client.workflowService.getWorkflowExecutionHistory({ namespace, execution, waitNewEvent: true, nextPageToken }),
    );
    token = page.nextPageToken;
    const events = page.history?.events ?? [];
    const writes = events.flatMap((event) => event.workflowPropertiesModifiedEventAttributes?.upsertedMemo ?? []);
    const begun = events[0]?.workflowExecutionStartedEventAttributes?.memo ?? {};
    for (const { fields } of [begun, ...writes]) Object.assign(memo, fields);
    let shown: Readonly<Record<string, unknown>> | null | undefined;
    if (writes.length > 0) shown = await decodeMapFromPayloads(loadedDataConverter, memo);
    else if (opening.length < OPENING_EVENTS.most) {
      opening.push(...events);
      shown = await readOpening(loadedDataConverter, opening);
    }
    const checkout = toStored({ memo: shown ?? undefined, isRunning: true });
    if (checkout !== null) yield checkout;
  } while (token.length > 0);
}

/** Null for a workflow without the memo of a checkout. Only Tillflow writes the memo, so its form needs no check. */
export function toStored({
  memo,
  isRunning,
}: {
  readonly memo: Readonly<Record<string, unknown>> | undefined;
  readonly isRunning: boolean;
}): StoredCheckout | null {
  const { intent, state, requestNonce, timeline, refunds, version, events } = (memo ?? {}) as Partial<CheckoutMemo>;
  if (intent === undefined) return null;
  return {
    intent,
    state: state ?? initialState(intent),
    requestNonce: requestNonce ?? '',
    timeline: timeline ?? [],
    refunds: refunds ?? [],
    version: version ?? 0,
    events,
    closed: !isRunning,
  };
}

/** Asks a checkout to retrieve its charge. @returns false when no run is open; when true, the hint is durable. */
export async function sendHint(client: Client, key: CheckoutKey, content: Hint): Promise<boolean> {
  try {
    await client.workflow.getHandle(checkoutWorkflowId(key)).signal(hint, content);
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

/** The newest attempt that the checkout shows; 1 while it shows none. */
export function newestAttempt({ state }: Pick<StoredCheckout, 'state'>): number {
  return Math.max(1, ...state.attempts.map(({ number }) => number));
}
