import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { accountOf } from '@tillflow/domain';
import { PAUSE_WORKFLOW, pauseWorkflowId, type PauseMemo } from '@tillflow/workflows';
import { within, type Bounded } from './connection/bounded-call.js';
import type { Temporal } from './connection/connection.js';
import { isClosed } from './connection/failures.js';
import { UnreadablePayloadError } from './encryption/encryption-codec.js';
import { decodeRun, decodeRunWithoutMemo, type ListedRun } from './listed-runs.js';
import { nameOnQueue } from './setup/schedules.js';

/** Why, by whom and since when (ISO 8601 UTC) Tillflow accepts no new checkouts and attempts. */
export type Pause = PauseMemo;

const UNREADABLE = 'The reason cannot be read, because a key of PAYLOAD_KEYS is missing';

/**
 * The pause of an account, as Temporal stores it: a workflow that runs as long as the pause lasts. Nothing here needs a
 * worker. Every method throws what Temporal's client throws: see `isTemporalFailure`.
 */
export class Pauses {
  readonly #workflowId: string;

  constructor(
    private readonly temporal: Pick<Temporal, 'client' | 'connection'>,
    private readonly options: {
      /** Two stacks in one namespace pause separately. */
      readonly taskQueue: string;
      /** How long a call may take, in milliseconds. */
      readonly withinMs: number;
      /** Bounds each call; absent: in time only. */
      readonly bounded?: Bounded;
    },
  ) {
    this.#workflowId = nameOnQueue(pauseWorkflowId(accountOf(options.taskQueue)), options.taskQueue);
  }

  /** Null while nothing is paused. A pause whose memo cannot be decrypted counts, without its reason. */
  async read(): Promise<Pause | null> {
    return (await this.#running())?.pause ?? null;
  }

  /** Pauses. @returns the pause in effect: the given one, or the one that was there before, unchanged. */
  async begin(pause: Pause): Promise<{ readonly pause: Pause; readonly isNew: boolean }> {
    const { workflow } = this.temporal.client;
    try {
      await this.#within('write', () =>
        workflow.start(PAUSE_WORKFLOW, {
          workflowId: this.#workflowId,
          taskQueue: this.options.taskQueue,
          args: [],
          workflowIdConflictPolicy: 'FAIL',
          workflowIdReusePolicy: 'ALLOW_DUPLICATE',
          memo: { ...pause },
          staticSummary: `No new checkouts, by ${pause.by}: ${pause.reason}`,
        }),
      );
      return { pause, isNew: true };
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
    const present = await this.read();
    // The earlier pause has ended meanwhile.
    return present === null ? this.begin(pause) : { pause: present, isNew: false };
  }

  /**
   * Resumes. @param by who resumes; Temporal's history keeps it. @returns the pause that ended; null: there was none.
   */
  async end(by: string): Promise<Pause | null> {
    const running = await this.#running();
    if (running === null) return null;
    const run = this.temporal.client.workflow.getHandle(this.#workflowId, running.runId);
    try {
      await this.#within('write', () => run.terminate(`Resumed by ${by}`));
      return running.pause;
    } catch (error) {
      if (isClosed(error)) return null;
      throw error;
    }
  }

  async #running(): Promise<{ readonly pause: Pause; readonly runId: string } | null> {
    const stored = await this.#describe();
    if (stored === null) return null;
    const { status, runId, startTime, memo } = await this.#decode(stored);
    if (status.name !== 'RUNNING') return null;
    const { reason = UNREADABLE, by = 'unknown', since = startTime.toISOString() } = (memo ?? {}) as Partial<PauseMemo>;
    return { pause: { reason, by, since }, runId };
  }

  /** The newest run; null when there is none. */
  async #describe(): Promise<ListedRun | null> {
    const { client } = this.temporal;
    try {
      const { workflowExecutionInfo } = await this.#within('read', () =>
        client.workflowService.describeWorkflowExecution({
          namespace: client.options.namespace,
          execution: { workflowId: this.#workflowId },
        }),
      );
      return workflowExecutionInfo ?? null;
    } catch (error) {
      if (isClosed(error)) return null;
      throw error;
    }
  }

  async #decode(stored: ListedRun): ReturnType<typeof decodeRun> {
    const { client } = this.temporal;
    try {
      return await decodeRun(client, stored);
    } catch (error) {
      if (!(error instanceof UnreadablePayloadError)) throw error;
      return decodeRunWithoutMemo(client, stored);
    }
  }

  #within<T>(kind: 'read' | 'write', work: () => Promise<T>): Promise<T> {
    const { bounded, withinMs } = this.options;
    return bounded === undefined ? within(this.temporal.connection, withinMs, work) : bounded(kind, withinMs, work);
  }
}
