import {
  ActivityFailure,
  ApplicationFailure,
  WorkflowFailedError,
  WorkflowNotFoundError,
  type WorkflowExecutionInfo,
} from '@temporalio/client';
import { accountOf, type Acknowledgement, type Break, type Window } from '@tillflow/domain';
import {
  emptySummary,
  RECONCILE_WORKFLOW,
  reconcileWorkflowId,
  type ReconcileInput,
  type ReconcileMemo,
  type ReconcileResult,
  type ReconcileSummary,
} from '@tillflow/workflows';
import { Acknowledgements, type RunOptions } from './acknowledgements.js';
import { within } from './connection/bounded-call.js';
import type { Temporal } from './connection/connection.js';
import { decodeRun, listPage, type RunPage } from './listed-runs.js';
import { RECONCILE_DAILY, scheduleIdOf } from './setup/schedules.js';

/** One run, as Temporal stores it. */
export type StoredReconciliation = {
  readonly id: string;
  readonly status: 'running' | 'completed' | 'failed';
  readonly summary: ReconcileSummary;
  /** The Schedule started it. */
  readonly isDaily: boolean;
  /** ISO 8601 UTC. */
  readonly createdAt: string;
};

/** A run with its result. */
export type FullReconciliation = StoredReconciliation & {
  /** Null until it has completed. */
  readonly result: ReconcileResult | null;
  /** Why it failed; null otherwise. */
  readonly failure: { readonly code: string; readonly detail: string } | null;
};

/** No reconciliation has this id. */
export class ReconciliationNotFoundError extends Error {
  override readonly name = 'ReconciliationNotFoundError';
}

/** A run of a workflow. */
type Run = { readonly workflowId: string; readonly runId: string };

const ID = /^rec_([A-Za-z0-9:.-]{1,64})_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
const DAILY = 'daily-';
/** A result is one payload of up to 2 MB. */
const RESULT_WITHIN_MS = 10_000;
const RUNS_PER_PAGE = 100;
const MOST_RUNS = 500;
/** The daily run of a window begins this long after the window's end, when none failed. In milliseconds. */
const SOON_MS = 2 * 86_400_000;

/**
 * Reconciliations as Temporal stores them. Reads come from memo and result and need no worker. Besides the named
 * errors, every method throws what Temporal's client throws: see `isTemporalFailure`.
 */
export class Reconciliations {
  readonly #acknowledgements: Acknowledgements;

  constructor(
    private readonly temporal: Pick<Temporal, 'client' | 'connection'>,
    private readonly options: RunOptions,
  ) {
    this.#acknowledgements = new Acknowledgements(temporal, options);
  }

  /** Starts a run, or joins a running one of the same window. @param by the requester, as `Attributed` spells it */
  async start(input: ReconcileInput, by: string): Promise<StoredReconciliation> {
    const { taskQueue } = this.options;
    const summary = emptySummary(input);
    const workflowId = reconcileWorkflowId(input);
    const { firstExecutionRunId: runId } = await this.#withinReadTime(() =>
      this.temporal.client.workflow.start(RECONCILE_WORKFLOW, {
        workflowId,
        taskQueue,
        args: [input],
        workflowIdConflictPolicy: 'USE_EXISTING',
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        memo: { reconciliation: summary, by } satisfies ReconcileMemo,
        staticSummary: `Payments from ${summary.from} to ${summary.to}${input.dry_run ? ', dry run' : ''}, by ${by}`,
      }),
    );
    const id = this.#idOf({ workflowId, runId });
    return { id, status: 'running', summary, isDaily: false, createdAt: new Date().toISOString() };
  }

  /** The run, and which of its breaks are acknowledged by now. @throws {ReconciliationNotFoundError} */
  async get(id: string): Promise<FullReconciliation> {
    return this.refresh(await this.#read(id));
  }

  /** A run that was read before, and which of its breaks are acknowledged by now. */
  async refresh(run: FullReconciliation): Promise<FullReconciliation> {
    if (run.result === null || run.result.found.length === 0) return run;
    const found = await this.#acknowledgements.mark(run.result.found);
    const acknowledged = found.filter((one) => one.acknowledged !== undefined).length;
    const result = { ...run.result, found, acknowledged };
    return { ...run, summary: result, result };
  }

  /** Acknowledges a break of a run, so that later runs do not report it. @returns the acknowledgement that counts */
  acknowledge(one: Break, asked: Pick<Acknowledgement, 'by' | 'reason'>): Promise<Acknowledgement> {
    return this.#acknowledgements.add(one, asked);
  }

  async #read(id: string): Promise<FullReconciliation> {
    const run = this.#runOf(id);
    if (run === null) throw new ReconciliationNotFoundError(`No reconciliation has the id ${id}`);
    const { workflow } = this.temporal.client;
    const handle = workflow.getHandle<(input?: ReconcileInput) => Promise<ReconcileResult>>(run.workflowId, run.runId, {
      followRuns: false,
    });
    try {
      const description = await this.#withinReadTime(() => handle.describe());
      const stored = this.#toStored(description);
      if (description.type !== RECONCILE_WORKFLOW)
        throw new ReconciliationNotFoundError(`${id} is not a reconciliation`);
      if (stored.status === 'running') return { ...stored, result: null, failure: null };
      const result = await this.#within(RESULT_WITHIN_MS, () => handle.result());
      return { ...stored, summary: result, result, failure: null };
    } catch (error) {
      if (error instanceof WorkflowNotFoundError)
        throw new ReconciliationNotFoundError(`No reconciliation has the id ${id}`);
      if (!(error instanceof WorkflowFailedError)) throw error;
      const stored = this.#toStored(await this.#withinReadTime(() => handle.describe()));
      return { ...stored, result: null, failure: failureOf(error) };
    }
  }

  /** One page: running ones first, then ended ones, the newest first in each. */
  async page(
    pageSize: number,
    pageToken: Uint8Array | null,
  ): Promise<{ readonly data: readonly StoredReconciliation[]; readonly nextPageToken: Uint8Array | null }> {
    const { client } = this.temporal;
    const page = await this.#withinReadTime(() => listPage(client, this.query, pageSize, pageToken));
    const data = await Promise.all(page.runs.map(async (run) => this.#toStored(await decodeRun(client, run))));
    return { data, nextPageToken: page.nextPageToken };
  }

  /** The runs in the order of {@link page}, at most this many. */
  runs(most: number): AsyncGenerator<StoredReconciliation, void, undefined> {
    return this.#list(this.query, most);
  }

  /**
   * The completed runs whose payments include all of a window, the ones with the shortest window first, of equal ones
   * the newest. Dry runs are left out. Reads the latest 500 runs that began within two days after the window, and the
   * latest 500 of all later ones: so no number of later runs hides the daily run.
   */
  async covering({ from, to }: Window): Promise<readonly StoredReconciliation[]> {
    const later = to + SOON_MS;
    const soon = await this.#completed(`StartTime >= '${timeOf(to)}' AND StartTime < '${timeOf(later)}'`);
    const found = later > Date.now() ? soon : [...soon, ...(await this.#completed(`StartTime >= '${timeOf(later)}'`))];
    const fromOf = ({ summary }: StoredReconciliation): number => Date.parse(summary.from);
    const untilOf = ({ summary }: StoredReconciliation): number => Date.parse(summary.compared_until ?? '');
    const lengthOf = (run: StoredReconciliation): number => untilOf(run) - fromOf(run);
    return found
      .filter((run) => !run.summary.dry_run && fromOf(run) <= from && untilOf(run) >= to)
      .toSorted((a, b) => lengthOf(a) - lengthOf(b) || Date.parse(b.createdAt) - Date.parse(a.createdAt));
  }

  /** The latest 500 completed runs that a search finds. */
  async #completed(began: string): Promise<StoredReconciliation[]> {
    const query = `${this.query} AND ExecutionStatus = 'Completed' AND ${began}`;
    const found: StoredReconciliation[] = [];
    for await (const run of this.#list(query, MOST_RUNS)) found.push(run);
    return found;
  }

  async *#list(query: string, most: number): AsyncGenerator<StoredReconciliation, void, undefined> {
    const { client } = this.temporal;
    let left = most;
    for (let token: Uint8Array | null = null; left > 0;) {
      const page: RunPage = await this.#withinReadTime(() => listPage(client, query, RUNS_PER_PAGE, token));
      for (const run of page.runs.slice(0, left)) yield this.#toStored(await decodeRun(client, run));
      left -= page.runs.length;
      token = page.nextPageToken;
      if (token === null) return;
    }
  }

  /** The search query for the runs of this task queue. */
  get query(): string {
    return `WorkflowType = '${RECONCILE_WORKFLOW}' AND TaskQueue = '${this.options.taskQueue}'`;
  }

  #toStored(
    info: Pick<WorkflowExecutionInfo, 'memo' | 'status' | 'startTime' | 'workflowId' | 'runId'>,
  ): StoredReconciliation {
    const { memo, status, startTime, workflowId, runId } = info;
    const { reconciliation, daily } = (memo ?? {}) as Partial<ReconcileMemo>;
    const at = startTime.getTime();
    return {
      id: this.#idOf({ workflowId, runId }),
      status: status.name === 'RUNNING' ? 'running' : status.name === 'COMPLETED' ? 'completed' : 'failed',
      // A run that the Schedule has just started publishes its window with its first step.
      summary: reconciliation ?? emptySummary({ from: at, to: at, dry_run: false }),
      isDaily: daily === true,
      createdAt: startTime.toISOString(),
    };
  }

  /** `rec_<window>_<run>`: can be converted back to the workflow and its run without a search. */
  #idOf({ workflowId, runId }: Run): string {
    const { daily } = this;
    const name = workflowId.startsWith(daily)
      ? `${DAILY}${workflowId.slice(daily.length)}`
      : workflowId.slice(this.onRequest.length);
    return `rec_${name}_${runId}`;
  }

  #runOf(id: string): Run | null {
    const [, name, runId] = ID.exec(id) ?? [];
    if (name === undefined || runId === undefined) return null;
    const workflowId = name.startsWith(DAILY) ? `${this.daily}${name.slice(DAILY.length)}` : `${this.onRequest}${name}`;
    return { workflowId, runId };
  }

  /** The ids of the workflows that the Schedule starts begin with it; the scheduled time follows. */
  private get daily(): string {
    return `${scheduleIdOf(RECONCILE_DAILY, this.options.taskQueue)}-`;
  }

  /** The ids of the workflows that a person starts begin with it. */
  private get onRequest(): string {
    return `reconcile/${accountOf(this.options.taskQueue)}/`;
  }

  #withinReadTime<T>(work: () => Promise<T>): Promise<T> {
    return this.#within(this.options.readWithinMs, work);
  }

  #within<T>(milliseconds: number, work: () => Promise<T>): Promise<T> {
    const { bounded } = this.options;
    return bounded === undefined
      ? within(this.temporal.connection, milliseconds, work)
      : bounded('list', milliseconds, work);
  }
}

function timeOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

/** Whether a run compared at least the window of another one. */
export function covers({ summary: wide }: StoredReconciliation, { summary: narrow }: StoredReconciliation): boolean {
  return Date.parse(wide.from) <= Date.parse(narrow.from) && Date.parse(wide.to) >= Date.parse(narrow.to);
}

/** Whether a run compared all records: without it, breaks of receipts may be missing. */
export function isComplete({ summary }: StoredReconciliation): boolean {
  return summary.not_compared === undefined;
}

function failureOf(error: WorkflowFailedError): { readonly code: string; readonly detail: string } {
  const { cause } = error;
  const reason = cause instanceof ActivityFailure ? cause.cause : cause;
  if (reason instanceof ApplicationFailure) return { code: reason.type ?? 'failed', detail: reason.message };
  return { code: 'ended_early', detail: reason?.message ?? error.message };
}
