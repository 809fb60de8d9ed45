/** The workflow's type, as its Schedule names it. There is one on each task queue. */
export const EVENT_TAIL_WORKFLOW = 'eventTail';

/** What an operator should know of, and no checkout shows. */
export type TailNoticeCode =
  /** The provider stopped a recurring plan: charges or transfers failed too often. */
  | 'plan_suspended'
  /** A recurring plan was due, and its charge or transfer failed; the provider may try again. */
  | 'plan_occurrence_failed'
  /** A recurring plan was due, and nothing was tried. */
  | 'plan_occurrence_skipped'
  | 'transfer_failed'
  | 'dispute_opened'
  | 'dispute_changed'
  | 'dispute_closed'
  /** A payment names a checkout of ours that is not there: nothing is given back without a person. */
  | 'checkout_missing'
  /** An event is not of the shape that this version knows: whom it names is told to look, the rest is for a person. */
  | 'event_unreadable';

/** Stays until it is dismissed, or newer ones of its code take its place. Wire names. */
export type TailNotice = {
  /** `<code>:<subject>`: a later event about the same takes the place of an earlier one. */
  readonly id: string;
  readonly code: TailNoticeCode;
  /** When the event happened, ISO 8601 UTC. */
  readonly since: string;
  /** For people. */
  readonly detail: string;
  /** The provider's id of what it is about: a plan or its occurrence, a transfer, a dispute, a charge. */
  readonly subject: string;
  /** What told of it: an event, or an occurrence. Once it was dismissed, it tells no more. */
  readonly event_id: string;
  /** Also concerned, where the event says so. */
  readonly charge_id: string | null;
  readonly plan_id: string | null;
  readonly checkout_id: string | null;
};

/** An event that could not be delivered, or not be read. It is tried again until it is dismissed. Wire names. */
export type UnplacedEvent = {
  readonly event_id: string;
  readonly event_key: string;
  readonly subject: string;
  readonly checkout_id: string | null;
  readonly charge_id: string | null;
  /** As the event says, ISO 8601. Absent where it says none, and in what an earlier release remembers. */
  readonly created_at?: string | null;
  /** ISO 8601 UTC: when it was first tried, and when it is tried again. */
  readonly since: string;
  readonly retry_at: string;
  /** In vain, so far. */
  readonly tries: number;
  /** The reason for people, such as `not_found: …`. */
  readonly why: string;
};

/** The memo of the event tail. Every part is absent until it was first written. Wire names. */
export type EventTailMemo = {
  /** The last pass that read all there was. */
  readonly pass?: {
    /** When it began, ISO 8601 UTC, by our clock. */
    readonly at: string;
    /** Everything up to here was delivered: ISO 8601 UTC, by the provider's clock. */
    readonly watermark: string;
    /** The pause between two passes, in milliseconds. */
    readonly interval_ms: number;
  };
  /** Why passes fail, and since when; null while they do not. */
  readonly failing?: { readonly since: string; readonly code: string; readonly message: string } | null;
  /** The latest are kept, those that name no one go first. */
  readonly unplaced?: readonly UnplacedEvent[];
  /** The latest of each code are kept, the oldest first. */
  readonly notices?: readonly TailNotice[];
  /** Ids of the events that a person has seen to last: they are told and tried no more. */
  readonly dismissed?: readonly string[];
};

/** One run of the event tail, as a list shows it. */
type ListedRun = { readonly memo?: Record<string, unknown> | undefined };

/** The part of a Temporal client that the tail is found with. */
export type WorkflowList<Run extends ListedRun> = {
  list(options: { readonly query: string; readonly pageSize: number }): AsyncIterable<Run>;
};

/**
 * The event tail that runs on a task queue and what it last said, or null: then webhooks that are lost are found by
 * each checkout's own polls. A list may lag a moment behind.
 */
export async function findEventTail<Run extends ListedRun>(
  workflows: WorkflowList<Run>,
  taskQueue: string,
): Promise<{ readonly run: Run; readonly memo: EventTailMemo } | null> {
  const query = [...eventTails(taskQueue), `ExecutionStatus = 'Running'`].join(' AND ');
  for await (const run of workflows.list({ query, pageSize: 1 })) {
    // Written by this product alone.
    const memo: EventTailMemo = run.memo ?? {};
    return { run, memo };
  }
  return null;
}

/** The conditions by which the runs of a queue's tail are listed, the newest first. */
export function eventTails(taskQueue: string): readonly string[] {
  return [`WorkflowType = '${EVENT_TAIL_WORKFLOW}'`, `TaskQueue = '${taskQueue}'`];
}
