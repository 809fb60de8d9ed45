import type Long from 'long';
import {
  attributesFields,
  toTime,
  type Failure,
  type HistoryEvent,
  type Job,
  type Payload,
  type Retry,
  type Status,
} from './protocol.js';

/** A local activity that ended within a workflow task. */
export type LocalResult = {
  readonly seq: number;
  readonly result: NonNullable<NonNullable<Job['resolveActivity']>['result']>;
  /** The workflow's time when it ended, in milliseconds since 1970. */
  readonly at: number;
};

/** One workflow task as a worker carried it out: a worker without the run in memory repeats it. */
export type Step = {
  /** The time of the task's latest start, in milliseconds since 1970: earlier starts are not in what a replay reads. */
  readonly timestamp: number;
  readonly historyLength: number;
  readonly jobs: readonly Job[];
  /** In the order in which they ended. */
  readonly locals: readonly LocalResult[];
  /** A digest of the commands that the code answered. */
  readonly commands: string;
};

export type Update = {
  readonly id: string;
  readonly name: string;
  readonly input: readonly Payload[];
  readonly identity: string;
  stage: 'admitted' | 'accepted' | 'completed';
  /** Absent until it is completed. */
  outcome?: { readonly success: readonly Payload[] } | { readonly failure: Failure };
  /** Ended without an outcome: the run has closed. */
  lost?: 'closed' | 'again';
};

export type ActivityState = {
  readonly seq: number;
  readonly id: string;
  readonly type: string;
  readonly taskQueue: string;
  readonly input: readonly Payload[];
  readonly scheduledAt: number;
  readonly scheduledEventId: number;
  readonly timeouts: {
    readonly scheduleToCloseMs: number;
    readonly startToCloseMs: number;
    readonly heartbeatMs: number;
  };
  readonly retry: Retry;
  attempt: number;
  attemptScheduledAt: number;
  startedAt: number | null;
  heartbeatDetails: Payload[];
  /** Cancels the timers of the attempt. */
  timers: (() => void)[];
  /** Of the whole activity. */
  readonly closeTimer: { cancel: () => void };
};

export type WorkflowTask = {
  /** Differs for each start, so that a late completion is recognized. */
  token: number;
  /** Only an update that no worker has accepted asks for it: it leaves no trace when the update is rejected. */
  isSpeculative: boolean;
  scheduledAt: number;
  startedAt: number | null;
  /** The history's length when it started. */
  historyLength: number;
  jobs: Job[];
  readonly attempt: number;
  timers: (() => void)[];
};

export type RunStart = {
  readonly workflowId: string;
  readonly runId: string;
  readonly firstRunId: string;
  readonly continuedFrom: string | null;
  readonly type: string;
  readonly taskQueue: string;
  readonly input: readonly Payload[];
  readonly memo: Readonly<Record<string, Payload>>;
  readonly searchAttributes: Readonly<Record<string, Payload>>;
  readonly seed: Long;
  readonly startedAt: number;
  readonly requestId: string;
};

/** One run of a workflow, as the engine stores it. */
export class Run {
  readonly memo: Record<string, Payload>;
  readonly searchAttributes: Record<string, Payload>;
  status: Status = 1;
  closedAt: number | null = null;
  readonly events: HistoryEvent[] = [];
  /** What workflow code was asked so far. */
  readonly journal: Step[] = [];
  /** The latest task whose commands are in the journal; 0: none. */
  journalEnd = 0;
  readonly timers = new Map<number, () => void>();
  readonly activities = new Map<number, ActivityState>();
  readonly updates = new Map<string, Update>();
  /** Updates that the server has forgotten, while a worker may still carry them out. */
  readonly forgotten = new Map<string, Update>();
  readonly signalIds = new Set<string>();
  task: WorkflowTask | null = null;
  /** Jobs for the next workflow task, whose events are in the history. */
  jobs: Job[] = [];
  /** What arrived while a workflow task was under way. */
  buffered: { readonly apply: () => void; readonly timerSeq?: number }[] = [];
  /** The worker that has the run in memory. */
  sticky: string | null = null;
  /** Called when the history grows or the run closes. */
  readonly watchers = new Set<() => void>();
  /** Why workflow tasks of the run fail at present. */
  problem: string | null = null;

  constructor(readonly start: RunStart) {
    this.memo = { ...start.memo };
    this.searchAttributes = { ...start.searchAttributes };
  }

  get isOpen(): boolean {
    return this.status === 1;
  }

  append(eventType: number, at: number, attributes: Partial<HistoryEvent> = {}): number {
    const eventId = this.events.length + 1;
    const event = { eventId, eventTime: toTime(at), eventType, [attributesFields[eventType] ?? '']: {}, ...attributes };
    this.events.push(event as unknown as HistoryEvent);
    return eventId;
  }

  changed(): void {
    for (const watcher of this.watchers) watcher();
  }
}
