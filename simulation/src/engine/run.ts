import type Long from 'long';
import { toTime, type Failure, type HistoryEvent, type Job, type Payload, type Status } from './protocol.js';

/** One activation of workflow code as a worker made it, with a digest of the commands that the code answered. */
export type Step = {
  readonly timestamp: number;
  readonly historyLength: number;
  readonly jobs: readonly Job[];
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
  readonly retry: {
    readonly initialMs: number;
    readonly coefficient: number;
    readonly maximumMs: number;
    readonly attempts: number;
  };
  attempt: number;
  attemptScheduledAt: number;
  startedAt: number | null;
  heartbeatDetails: Payload[];
  lastFailure: Failure | null;
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
  readonly scheduledAt: number;
  startedAt: number | null;
  /** The history's length when it started. */
  historyLength: number;
  jobs: Job[];
  updates: Update[];
  attempt: number;
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
  readonly startMemo: Record<string, Payload>;
  readonly startSearchAttributes: Record<string, Payload>;
  status: Status = 1;
  closedAt: number | null = null;
  readonly events: HistoryEvent[] = [];
  /** What workflow code was asked so far: a worker without the run in memory repeats it. */
  readonly journal: Step[] = [];
  readonly timers = new Map<number, () => void>();
  readonly activities = new Map<number, ActivityState>();
  readonly updates = new Map<string, Update>();
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
  /** The jobs of the first workflow task that failed for a defect, for people. */
  problem: string | null = null;
  failures = 0;

  constructor(readonly start: RunStart) {
    this.memo = { ...start.memo };
    this.searchAttributes = { ...start.searchAttributes };
    this.startMemo = { ...start.memo };
    this.startSearchAttributes = { ...start.searchAttributes };
  }

  get isOpen(): boolean {
    return this.status === 1;
  }

  append(eventType: number, at: number, attributes: Partial<HistoryEvent> = {}): number {
    const eventId = this.events.length + 1;
    this.events.push({ eventId: eventId as unknown as Long, eventTime: toTime(at), eventType, ...attributes });
    return eventId;
  }

  changed(): void {
    for (const watcher of this.watchers) watcher();
  }
}
