/** The workflow type. Each task queue has one event tail, which its Schedule starts. */
const EVENT_TAIL_WORKFLOW = 'eventTail';

/** Something that an operator should know and that no checkout shows. */
export type TailNoticeCode =
  /** The provider stopped a recurring plan: charges or transfers failed too often. */
  | 'plan_suspended'
  /** The charge or transfer of a recurring plan failed; the provider may try again. */
  | 'plan_occurrence_failed'
  /** The provider skipped an occurrence of a recurring plan. */
  | 'plan_occurrence_skipped'
  | 'transfer_failed'
  | 'dispute_opened'
  | 'dispute_changed'
  | 'dispute_closed'
  /** A payment names a checkout that does not exist: a person has to decide about the money. */
  | 'checkout_missing'
  /** An event endpoint answered 410, or accepted nothing for days: nothing is sent to it any more. */
  | 'endpoint_disabled'
  /** An event does not match its schema. Tillflow retrieves the record that it names; the rest is for a person. */
  | 'event_unreadable';

/** Stays until an operator dismisses it, or newer notices of its code replace it. Wire names. */
export type TailNotice = {
  /** `<code>:<subject>`: a later event about the same record replaces an earlier one. */
  readonly id: string;
  readonly code: TailNoticeCode;
  /** When the event happened, ISO 8601 UTC. */
  readonly since: string;
  /** For people. */
  readonly detail: string;
  /** The provider's id of the record: a plan or its occurrence, a transfer, a dispute, a charge. */
  readonly subject: string;
  /** The event or the occurrence that caused the notice. Once dismissed, it causes no other notice. */
  readonly event_id: string;
  /** Related records, when the event names them. */
  readonly charge_id: string | null;
  readonly plan_id: string | null;
  readonly checkout_id: string | null;
};

/** An event that could not be delivered or read. The tail tries it again until an operator dismisses it. Wire names. */
export type UnplacedEvent = {
  readonly event_id: string;
  readonly event_key: string;
  readonly subject: string;
  readonly checkout_id: string | null;
  readonly charge_id: string | null;
  /** As the event says, ISO 8601; absent when it does not say. */
  readonly created_at?: string | null;
  /** When it was tried first, and when it is tried again: ISO 8601 UTC. */
  readonly since: string;
  readonly retry_at: string;
  /** Failed tries so far. */
  readonly tries: number;
  /** The reason for people, such as `not_found: …`. */
  readonly why: string;
};

/** Bounds of the memo. Reconciliation finds what is dropped, or the provider shows it. */
export const MAX_UNPLACED = 50;
export const MAX_NOTICES = 50;

/** One notice of each id, the latest of each code: many notices of one code do not push out others. */
export function latestNotices(notices: readonly TailNotice[]): readonly TailNotice[] {
  const latest = [...new Map(notices.map((notice) => [notice.id, notice])).values()];
  while (latest.length > MAX_NOTICES) latest.splice(oldestOfMostFrequentCode(latest), 1);
  return latest;
}

/** The latest unplaced events. Those that name a checkout or a charge stay longest. */
export function latestUnplaced(events: readonly UnplacedEvent[]): readonly UnplacedEvent[] {
  const latest = [...events];
  while (latest.length > MAX_UNPLACED) latest.splice(Math.max(latest.findIndex(isUnroutable), 0), 1);
  return latest;
}

/** The event names neither a checkout nor a charge: it has to be read again. */
export function isUnroutable({ checkout_id: checkout, charge_id: charge }: UnplacedEvent): boolean {
  return checkout === null && charge === null;
}

function oldestOfMostFrequentCode(notices: readonly TailNotice[]): number {
  const counts = new Map<string, number>();
  for (const { code } of notices) counts.set(code, (counts.get(code) ?? 0) + 1);
  const most = Math.max(...counts.values());
  return notices.findIndex(({ code }) => counts.get(code) === most);
}

/** The memo of the event tail. A part is absent until it is written for the first time. Wire names. */
export type EventTailMemo = {
  /** The last pass that read every event. */
  readonly pass?: {
    /** When it began, ISO 8601 UTC, by Tillflow's clock. */
    readonly at: string;
    /** Every event up to here is delivered: ISO 8601 UTC, by the provider's clock. */
    readonly watermark: string;
    /** The pause between two passes, in milliseconds. */
    readonly interval_ms: number;
  };
  /** Why passes fail, and since when; null while they do not. */
  readonly failing?: { readonly since: string; readonly code: string; readonly message: string } | null;
  /** The latest {@link MAX_UNPLACED}. Those that name neither checkout nor charge are dropped first. */
  readonly unplaced?: readonly UnplacedEvent[];
  /** The latest {@link MAX_NOTICES}, the oldest first. Those of the most frequent code are dropped first. */
  readonly notices?: readonly TailNotice[];
  /** Ids of the events that operators dismissed last: they cause no notice and no try. */
  readonly dismissed?: readonly string[];
};

/** A run of the event tail, as a list shows it. */
type ListedRun = { readonly memo?: Record<string, unknown> | undefined };

/** The part of a Temporal client that finds the tail. */
export type WorkflowList<Run extends ListedRun> = {
  list(options: { readonly query: string; readonly pageSize: number }): AsyncIterable<Run>;
};

/**
 * The running event tail of a task queue and its memo. Null when none runs: then only each checkout's own polls find a
 * lost webhook. A list may lag a moment behind.
 */
export async function findEventTail<Run extends ListedRun>(
  workflows: WorkflowList<Run>,
  taskQueue: string,
): Promise<{ readonly run: Run; readonly memo: EventTailMemo } | null> {
  const query = [...eventTails(taskQueue), `ExecutionStatus = 'Running'`].join(' AND ');
  for await (const run of workflows.list({ query, pageSize: 1 })) {
    // Only Tillflow writes the memo.
    const memo: EventTailMemo = run.memo ?? {};
    return { run, memo };
  }
  return null;
}

/** The search conditions for the runs of a queue's tail. */
export function eventTails(taskQueue: string): readonly string[] {
  return [`WorkflowType = '${EVENT_TAIL_WORKFLOW}'`, `TaskQueue = '${taskQueue}'`];
}
