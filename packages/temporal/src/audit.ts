import {
  ACKNOWLEDGEMENT_WORKFLOW,
  AFTERCARE_WORKFLOW,
  CHECKOUT_WORKFLOW,
  COMMAND_WORKFLOW,
  COUNTER_LINK_WORKFLOW,
  EVENT_ENDPOINT_WORKFLOW,
  originOf,
  PAUSE_WORKFLOW,
  RECONCILE_WORKFLOW,
  searchAttributes,
  type AcknowledgementMemo,
  type CommandMemo,
  type CounterLinkMemo,
  type EventEndpointMemo,
  type PauseMemo,
  type ReconcileMemo,
  type StoredRefund,
  type TimelineEntry,
} from '@tillflow/workflows';
import { within } from './connection/bounded-call.js';
import type { Temporal } from './connection/connection.js';
import { toStored, type StoredCheckout } from './checkouts/checkout-workflow.js';
import { decodeRuns, listPage, replacedRuns, type OnUnreadable, type RunPage } from './listed-runs.js';

/** Something that a person or another system asked for. */
export type AuditRecord = {
  /** ISO 8601 UTC. */
  readonly at: string;
  /** Who, as `Attributed` spells it: the name of a key, `cli:<user>`, `counter:<link>:<till>`. */
  readonly by: string;
  /** From where; null where it was not recorded. */
  readonly origin: string | null;
  /** A fixed word, such as `refund_requested` or `update_card`. */
  readonly what: string;
  /** The id of the checkout, the changed record, the link or the reconciliation. */
  readonly target: string;
  readonly detail: string | null;
  /** What became of it, as far as it is known now. */
  readonly outcome: string;
};

/** The requests from `from`, before `to` (ISO 8601 UTC), of one requester or of all. */
export type AuditQuery = { readonly from: string; readonly to: string; readonly by?: string | undefined };

const PAGE = 500;
/** What Tillflow does on its own is no request. */
const OWN = 'auto:';
const CHECKOUTS = `WorkflowType IN ('${CHECKOUT_WORKFLOW}', '${AFTERCARE_WORKFLOW}')`;
/** Each of these ends only when a person or another system terminates it. */
const ENDED_BY_REQUEST = [COUNTER_LINK_WORKFLOW, EVENT_ENDPOINT_WORKFLOW, PAUSE_WORKFLOW];
const OTHERS = [ACKNOWLEDGEMENT_WORKFLOW, COMMAND_WORKFLOW, COUNTER_LINK_WORKFLOW, PAUSE_WORKFLOW, RECONCILE_WORKFLOW];

/**
 * Everything that people and other systems asked for, as Temporal stores it: requests to checkouts, changes of the
 * provider's records, links to counters, endpoints of events, pauses and reconciliations. It reads every checkout that was open in this time,
 * because a payment can be refunded for a year. Throws what Temporal's client throws: see `isTemporalFailure`.
 */
export class AuditTrail {
  constructor(
    private readonly temporal: Pick<Temporal, 'client' | 'connection'>,
    private readonly options: { readonly taskQueue: string; readonly readWithinMs: number },
  ) {}

  /** One page of records after the other, in no order. */
  async *read(query: AuditQuery, onUnreadable: OnUnreadable): AsyncGenerator<readonly AuditRecord[]> {
    const { from, to, by } = query;
    const isWanted = (record: AuditRecord): boolean =>
      record.at >= from && record.at < to && !record.by.startsWith(OWN) && (by === undefined || record.by === by);
    const wasOpen = `(ExecutionStatus = 'Running' OR CloseTime >= '${from}') AND ExecutionStatus != 'ContinuedAsNew'`;
    const created = `${searchAttributes.createdAt.name} < '${to}'`;
    const ofAccount = `TaskQueue = '${this.options.taskQueue}'`;
    for await (const page of this.#pages(`${ofAccount} AND ${CHECKOUTS} AND ${created} AND ${wasOpen}`)) {
      const replaced = await this.#call(() => replacedRuns(this.temporal.client, page));
      const current = page.filter(({ execution }) => !replaced.has(execution?.runId ?? ''));
      const runs = await decodeRuns(this.temporal.client, current, onUnreadable);
      const checkouts = runs.flatMap(({ memo }) => toStored({ memo, isRunning: true }) ?? []);
      yield checkouts.flatMap(requestsOf).filter(isWanted);
    }
    const started = `StartTime >= '${from}' AND StartTime < '${to}'`;
    for await (const page of this.#pages(`${ofAccount} AND ${typeIn(OTHERS)} AND ${started}`)) {
      const runs = await decodeRuns(this.temporal.client, page, onUnreadable);
      yield runs.flatMap((run) => startOf(run) ?? []).filter(isWanted);
    }
    const endpoints = `WorkflowType = '${EVENT_ENDPOINT_WORKFLOW}' AND StartTime < '${to}' AND ${wasOpen}`;
    for await (const page of this.#pages(`${ofAccount} AND ${endpoints}`)) {
      const runs = await decodeRuns(this.temporal.client, page, onUnreadable);
      yield runs.flatMap(changesOf).filter(isWanted);
    }
    const ended = `ExecutionStatus = 'Terminated' AND CloseTime >= '${from}' AND CloseTime < '${to}'`;
    for await (const page of this.#pages(`${ofAccount} AND ${typeIn(ENDED_BY_REQUEST)} AND ${ended}`)) {
      const runs = await decodeRuns(this.temporal.client, page, onUnreadable);
      const ends: AuditRecord[] = [];
      for (const run of runs) ends.push(await this.#endOf(run));
      yield ends.filter(isWanted);
    }
  }

  /** Who terminated a run: the last event of its history says it. */
  async #endOf({ type, workflowId, runId, memo, closeTime }: Run): Promise<AuditRecord> {
    const { client } = this.temporal;
    const { history } = await this.#call(() =>
      client.workflowService.getWorkflowExecutionHistoryReverse({
        namespace: client.options.namespace,
        execution: { workflowId, runId },
        maximumPageSize: 1,
      }),
    );
    const reason = history?.events?.[0]?.workflowExecutionTerminatedEventAttributes?.reason ?? '';
    const by = /^(?:Resumed|Revoked|Deleted) by (.+)$/s.exec(reason)?.[1];
    return {
      at: (closeTime ?? new Date(0)).toISOString(),
      // Temporal's own tools can terminate it, too.
      by: by ?? 'temporal:terminate',
      origin: null,
      what: END_OF[type] ?? 'terminate',
      target: targetOf(type, memo),
      detail: by === undefined && reason !== '' ? reason : null,
      outcome: 'done',
    };
  }

  async *#pages(query: string): AsyncGenerator<RunPage['runs']> {
    let token: Uint8Array | null = null;
    do {
      const from: Uint8Array | null = token;
      const page: RunPage = await this.#call(() => listPage(this.temporal.client, query, PAGE, from));
      yield page.runs;
      token = page.nextPageToken;
    } while (token !== null);
  }

  #call<T>(work: () => Promise<T>): Promise<T> {
    return within(this.temporal.connection, this.options.readWithinMs, work);
  }
}

/** The requests to one checkout. A full timeline drops entries; the refunds are complete. */
function requestsOf({ intent, state, refunds, timeline }: StoredCheckout): AuditRecord[] {
  const refundOf = new Map(refunds.map((refund) => [refund.created_at, refund]));
  const noted = timeline.flatMap((entry): AuditRecord[] => {
    const { at, by, what, detail = null, origin = null } = entry;
    if (by === undefined) return [];
    return [
      { at, by, origin, what, target: intent.id, detail, outcome: outcomeOf(entry, refundOf.get(at), state.status) },
    ];
  });
  const known = new Set(noted.filter(({ what }) => what === 'refund_requested').map(({ at, by }) => `${at} ${by}`));
  const dropped = refunds.flatMap(({ created_at: at, requested_by: by, key, status }): AuditRecord[] =>
    by === undefined || known.has(`${at} ${by}`)
      ? []
      : [{ at, by, origin: null, what: 'refund_requested', target: intent.id, detail: key, outcome: status }],
  );
  return [...noted, ...dropped];
}

function outcomeOf({ what }: TimelineEntry, refund: StoredRefund | undefined, status: string): string {
  switch (what) {
    case 'refund_requested':
      return refund?.status ?? 'done';
    case 'refund_refused':
      return 'refused';
    case 'opened':
    case 'cancel_requested':
    case 'attempt_requested':
      return status;
    default:
      return 'done';
  }
}

type Run = Awaited<ReturnType<typeof decodeRuns>>[number];

const typeIn = (types: readonly string[]): string => `WorkflowType IN (${types.map((type) => `'${type}'`).join(', ')})`;

const END_OF: Readonly<Record<string, string>> = {
  [COUNTER_LINK_WORKFLOW]: 'revoke_counter_link',
  [EVENT_ENDPOINT_WORKFLOW]: 'delete_endpoint',
  [PAUSE_WORKFLOW]: 'resume',
};

/** What a pause is about. */
const ALL_CHECKOUTS = 'all checkouts';

function targetOf(type: string, memo: Run['memo']): string {
  if (type === COUNTER_LINK_WORKFLOW) return (memo as CounterLinkMemo).link.id;
  if (type === EVENT_ENDPOINT_WORKFLOW) return (memo as EventEndpointMemo).endpoint.id;
  return ALL_CHECKOUTS;
}

/** The creation of an endpoint, and its newest changes. */
function changesOf({ memo }: Run): AuditRecord[] {
  const { endpoint, changes = [] } = memo as EventEndpointMemo;
  const common = { target: endpoint.id, outcome: 'done' };
  const made = changes.flatMap(({ at, by, origin = null, what }): AuditRecord[] =>
    by === undefined ? [] : [{ ...common, at, by, origin, what: 'change_endpoint', detail: what.join(', ') }],
  );
  const { created_at: at, created_by: by } = endpoint;
  if (by === null) return made;
  return [{ ...common, at, by, origin: null, what: 'create_endpoint', detail: originOf(endpoint.url) }, ...made];
}

/** Who started another workflow than a checkout. Null: a Schedule did, or it was not recorded. */
function startOf({ type, memo, status, workflowId, startTime }: Run): AuditRecord | null {
  const outcome = status.name.toLowerCase();
  const common = { origin: null, detail: null, outcome };
  // Written by this product alone.
  switch (type) {
    case COMMAND_WORKFLOW: {
      const { audit } = memo as CommandMemo;
      const detail = audit.fields.length === 0 ? null : audit.fields.join(', ');
      return { ...common, at: audit.asked_at, by: audit.by, what: audit.kind, target: audit.target, detail };
    }
    case ACKNOWLEDGEMENT_WORKFLOW: {
      const { at, by, reason } = (memo as AcknowledgementMemo).acknowledgement;
      return { ...common, at, by, what: 'acknowledge_break', target: workflowId, detail: reason };
    }
    case COUNTER_LINK_WORKFLOW: {
      const { link } = memo as CounterLinkMemo;
      const detail = link.store === null ? link.terminal : `${link.terminal} in ${link.store.id}`;
      return {
        ...common,
        at: link.created_at,
        by: link.created_by,
        what: 'create_counter_link',
        target: link.id,
        detail,
      };
    }
    case PAUSE_WORKFLOW: {
      const { since, by, reason } = memo as PauseMemo;
      return { ...common, at: since, by, what: 'pause', target: ALL_CHECKOUTS, detail: reason };
    }
    case RECONCILE_WORKFLOW: {
      const { by, reconciliation } = memo as ReconcileMemo;
      if (by === undefined) return null;
      const detail = `${reconciliation.from} to ${reconciliation.to}`;
      return { ...common, at: startTime.toISOString(), by, what: 'reconcile', target: workflowId, detail };
    }
    default:
      return null;
  }
}
