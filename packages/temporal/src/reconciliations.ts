import {
  ActivityFailure,
  ApplicationFailure,
  WorkflowFailedError,
  WorkflowNotFoundError,
  type WorkflowExecutionInfo,
} from '@temporalio/client';
import { executionInfoFromRaw } from '@temporalio/client/lib/helpers.js';
import {
  emptySummary,
  RECONCILE_WORKFLOW,
  reconcileWorkflowId,
  type ReconcileInput,
  type ReconcileMemo,
  type ReconcileResult,
  type ReconcileSummary,
} from '@tillflow/workflows';
import type { Temporal } from './connection.js';
import { nameOnQueue, RECONCILE_DAILY } from './schedules.js';
import { within, type Bounded } from './within.js';

/** One run, as the engine keeps it. */
export type StoredReconciliation = {
  readonly id: string;
  readonly status: 'running' | 'completed' | 'failed';
  readonly summary: ReconcileSummary;
  /** Started by the Schedule. */
  readonly isDaily: boolean;
  /** ISO 8601 UTC. */
  readonly createdAt: string;
};

/** A run with what it found. */
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
const ASKED_FOR = 'reconcile/default/';
/** A result is one payload of up to 2 MB. */
const RESULT_WITHIN_MS = 10_000;

/**
 * Reconciliations as Temporal keeps them: read from memo and result, so that no worker is needed. Besides what is named,
 * everything here throws what Temporal's client throws: `isTemporalFailure` knows it.
 */
export class Reconciliations {
  constructor(
    private readonly temporal: Pick<Temporal, 'client' | 'connection'>,
    private readonly options: {
      readonly taskQueue: string;
      /** How long a read or a start may take, in milliseconds. */
      readonly readWithinMs: number;
      /** How calls are bounded; absent: in time only. */
      readonly bounded?: Bounded;
    },
  ) {}

  /** Starts a run, or joins the one that compares the same window already. @param by who asked, as `Attributed` spells it. */
  async start(input: ReconcileInput, by: string): Promise<StoredReconciliation> {
    const { taskQueue } = this.options;
    const summary = emptySummary(input);
    const workflowId = reconcileWorkflowId(input);
    const { firstExecutionRunId: runId } = await this.#soon(() =>
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

  /** @throws {ReconciliationNotFoundError} */
  async get(id: string): Promise<FullReconciliation> {
    const run = this.#runOf(id);
    if (run === null) throw new ReconciliationNotFoundError(`No reconciliation is ${id}`);
    const { workflow } = this.temporal.client;
    const handle = workflow.getHandle<(input?: ReconcileInput) => Promise<ReconcileResult>>(run.workflowId, run.runId, {
      followRuns: false,
    });
    try {
      const description = await this.#soon(() => handle.describe());
      const stored = this.#toStored(description);
      if (description.type !== RECONCILE_WORKFLOW) throw new ReconciliationNotFoundError(`${id} is none`);
      if (stored.status === 'running') return { ...stored, result: null, failure: null };
      const result = await this.#within(RESULT_WITHIN_MS, () => handle.result());
      return { ...stored, summary: result, result, failure: null };
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) throw new ReconciliationNotFoundError(`No reconciliation is ${id}`);
      if (!(error instanceof WorkflowFailedError)) throw error;
      const stored = this.#toStored(await this.#soon(() => handle.describe()));
      return { ...stored, result: null, failure: failureOf(error) };
    }
  }

  /** One page, the running ones first, then the newest. */
  async page(
    pageSize: number,
    nextPageToken: Uint8Array | null,
  ): Promise<{ readonly data: readonly StoredReconciliation[]; readonly nextPageToken: Uint8Array | null }> {
    const { connection, client } = this.temporal;
    const { namespace } = client.options;
    const page = await this.#soon(() =>
      connection.workflowService.listWorkflowExecutions({
        namespace,
        query: this.query,
        pageSize,
        ...(nextPageToken === null ? {} : { nextPageToken }),
      }),
    );
    const { loadedDataConverter } = client.workflow.options;
    const data = await Promise.all(
      page.executions.map(async (raw) =>
        this.#toStored(await executionInfoFromRaw(raw, loadedDataConverter, undefined, namespace)),
      ),
    );
    return { data, nextPageToken: page.nextPageToken.length > 0 ? page.nextPageToken : null };
  }

  /** What finds the runs of this task queue in Temporal's visibility. */
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
      // One that the Schedule has just started tells its window with its first step.
      summary: reconciliation ?? emptySummary({ from: at, to: at, dry_run: false }),
      isDaily: daily === true,
      createdAt: startTime.toISOString(),
    };
  }

  /** `rec_<window>_<run>`: derived from the workflow, and back, so that nothing has to be looked up. */
  #idOf({ workflowId, runId }: Run): string {
    const { daily } = this;
    const name = workflowId.startsWith(daily)
      ? `${DAILY}${workflowId.slice(daily.length)}`
      : workflowId.slice(ASKED_FOR.length);
    return `rec_${name}_${runId}`;
  }

  #runOf(id: string): Run | null {
    const [, name, runId] = ID.exec(id) ?? [];
    if (name === undefined || runId === undefined) return null;
    const workflowId = name.startsWith(DAILY) ? `${this.daily}${name.slice(DAILY.length)}` : `${ASKED_FOR}${name}`;
    return { workflowId, runId };
  }

  /** How the ids of workflows begin that the Schedule starts; the time they were due at follows. */
  private get daily(): string {
    return `${nameOnQueue(RECONCILE_DAILY, this.options.taskQueue)}-`;
  }

  #soon<T>(work: () => Promise<T>): Promise<T> {
    return this.#within(this.options.readWithinMs, work);
  }

  #within<T>(milliseconds: number, work: () => Promise<T>): Promise<T> {
    const { bounded } = this.options;
    return bounded === undefined
      ? within(this.temporal.connection, milliseconds, work)
      : bounded('list', milliseconds, work);
  }
}

function failureOf(error: WorkflowFailedError): { readonly code: string; readonly detail: string } {
  const { cause } = error;
  const reason = cause instanceof ActivityFailure ? cause.cause : cause;
  if (reason instanceof ApplicationFailure) return { code: reason.type ?? 'failed', detail: reason.message };
  return { code: 'ended_early', detail: reason?.message ?? error.message };
}
