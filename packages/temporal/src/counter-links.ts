import { WorkflowNotFoundError } from '@temporalio/client';
import { accountOf } from '@tillflow/domain';
import {
  COUNTER_LINK_WORKFLOW,
  counterLinkWorkflowId,
  type CounterLink,
  type CounterLinkMemo,
} from '@tillflow/workflows';
import type { RunOptions } from './acknowledgements.js';
import { within } from './connection/bounded-call.js';
import type { Temporal } from './connection/connection.js';
import { isClosed } from './connection/failures.js';
import { decodeRuns, listRuns, RUNNING } from './listed-runs.js';
import { randomText } from './random-text.js';
import { nameOnQueue } from './setup/schedules.js';
import { writeTillToken, type Till } from './tills.js';

const ID_CHARS = 20;

/** A link that begins now, before it is stored. @param expiresIn seconds */
export function newCounterLink({ terminal, store }: Till, expiresIn: number, by: string): CounterLink {
  const now = Date.now();
  return {
    id: `clnk_${randomText(ID_CHARS)}`,
    terminal,
    store,
    created_at: new Date(now).toISOString(),
    expires_at: new Date((Math.floor(now / 1_000) + expiresIn) * 1_000).toISOString(),
    created_by: by,
  };
}

/** The address that opens the counter of a link. @param base without a slash at its end. @param sign signs for links */
export function counterAddress(
  base: string,
  { id, terminal, store, expires_at }: CounterLink,
  sign: (parts: readonly unknown[]) => string,
  account?: string,
): string {
  const session = { link: id, terminal, store, expires: Date.parse(expires_at) / 1_000, account };
  // A browser sends no fragment to any server.
  return `${base}/counter#${writeTillToken(session, sign)}`;
}

/**
 * The links of the counter as Temporal stores them: one open workflow for each valid link. Nothing here needs a worker.
 * Every method throws what Temporal's client throws: see `isTemporalFailure`.
 */
export class CounterLinks {
  constructor(
    private readonly temporal: Pick<Temporal, 'client' | 'connection'>,
    private readonly options: RunOptions,
  ) {}

  async create(link: CounterLink): Promise<void> {
    const till = link.store === null ? link.terminal : `${link.terminal} in ${link.store.id}`;
    await this.#within('write', () =>
      this.temporal.client.workflow.start(COUNTER_LINK_WORKFLOW, {
        workflowId: this.#workflowId(link.id),
        taskQueue: this.options.taskQueue,
        args: [],
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        memo: { link } satisfies CounterLinkMemo,
        staticSummary: `Counter of ${till}, until ${link.expires_at}`,
      }),
    );
  }

  /** Whether the link was neither revoked nor has ended. @param id from a token that the API signed */
  async isOpen(id: string): Promise<boolean> {
    const { client } = this.temporal;
    try {
      const { workflowExecutionInfo } = await this.#within('read', () =>
        client.workflowService.describeWorkflowExecution({
          namespace: client.options.namespace,
          execution: { workflowId: this.#workflowId(id) },
        }),
      );
      return Number(workflowExecutionInfo?.status) === RUNNING;
    } catch (error) {
      if (isClosed(error)) return false;
      throw error;
    }
  }

  /** The valid link with this id; null when there is none. */
  async get(id: string): Promise<CounterLink | null> {
    try {
      const { memo, status } = await this.#within('read', () =>
        this.temporal.client.workflow.getHandle(this.#workflowId(id)).describe(),
      );
      return status.name === 'RUNNING' ? (memo as CounterLinkMemo).link : null;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError || isClosed(error)) return null;
      throw error;
    }
  }

  /** The valid links, the newest first. A list may lag a moment behind. */
  async list(): Promise<CounterLink[]> {
    const { client } = this.temporal;
    const query = `WorkflowType = '${COUNTER_LINK_WORKFLOW}' AND ExecutionStatus = 'Running' AND TaskQueue = '${this.options.taskQueue}'`;
    const runs = await listRuns(client, query, (call) => this.#within('list', call));
    const decoded = await decodeRuns(client, runs, () => undefined);
    const links = decoded.map(({ memo }) => (memo as CounterLinkMemo).link);
    return links.toSorted((one, other) => other.created_at.localeCompare(one.created_at, 'en'));
  }

  /** @param by who revokes it; Temporal's history keeps it. @returns false when no valid link has this id */
  async revoke(id: string, by: string): Promise<boolean> {
    try {
      await this.#within('write', () =>
        this.temporal.client.workflow.getHandle(this.#workflowId(id)).terminate(`Revoked by ${by}`),
      );
      return true;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError || isClosed(error)) return false;
      throw error;
    }
  }

  #workflowId(id: string): string {
    const { taskQueue } = this.options;
    return nameOnQueue(counterLinkWorkflowId(accountOf(taskQueue), id), taskQueue);
  }

  #within<T>(kind: 'read' | 'write' | 'list', work: () => Promise<T>): Promise<T> {
    const { bounded, readWithinMs } = this.options;
    return bounded === undefined
      ? within(this.temporal.connection, readWithinMs, work)
      : bounded(kind, readWithinMs, work);
  }
}
