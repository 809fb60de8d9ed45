import { createHash } from 'node:crypto';
import {
  accountOf,
  DEFAULT_ACCOUNT,
  factsOf,
  withAcknowledgement,
  type Acknowledgement,
  type Break,
} from '@tillflow/domain';
import { ACKNOWLEDGEMENT_WORKFLOW, acknowledgementWorkflowId, type AcknowledgementMemo } from '@tillflow/workflows';
import { within, type Bounded } from './connection/bounded-call.js';
import type { Temporal } from './connection/connection.js';
import { decodeRuns, listRuns, MAX_WORKFLOWS } from './listed-runs.js';

/** How the runs of one task queue are reached. */
export type RunOptions = {
  readonly taskQueue: string;
  /** How long a read or a start may take, in milliseconds. */
  readonly readWithinMs: number;
  /** Bounds each call; absent: in time only. */
  readonly bounded?: Bounded;
};

/**
 * Acknowledged breaks as Temporal stores them: one open workflow for each, named by the break's facts, with the
 * acknowledgement in its memo. Neither reads nor writes need a worker. Every method throws what Temporal's client
 * throws: see `isTemporalFailure`.
 */
export class Acknowledgements {
  constructor(
    private readonly temporal: Pick<Temporal, 'client' | 'connection'>,
    private readonly options: RunOptions,
  ) {}

  /**
   * Acknowledges a break. The first acknowledgement of a break stays.
   * @param by the requester, as `Attributed` spells it
   * @returns the acknowledgement that counts
   */
  async add(one: Break, { by, reason }: Pick<Acknowledgement, 'by' | 'reason'>): Promise<Acknowledgement> {
    const { workflow } = this.temporal.client;
    const workflowId = acknowledgementId(one, accountOf(this.options.taskQueue));
    const acknowledgement = { by, at: new Date().toISOString(), reason };
    const about = one.checkout_id ?? one.charge_id ?? one.receipt_id ?? one.transaction_id ?? '';
    await this.#within(() =>
      workflow.start(ACKNOWLEDGEMENT_WORKFLOW, {
        workflowId,
        taskQueue: this.options.taskQueue,
        args: [],
        workflowIdConflictPolicy: 'USE_EXISTING',
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        memo: { acknowledgement } satisfies AcknowledgementMemo,
        staticSummary: `${one.type} of ${about}, acknowledged by ${by}`,
      }),
    );
    const { memo } = await this.#within(() => workflow.getHandle(workflowId).describe());
    return acknowledgementIn(memo) ?? acknowledgement;
  }

  /**
   * The breaks, each with its present acknowledgement, or without one. A new one appears here a moment after it is
   * made.
   */
  async mark(breaks: readonly Break[]): Promise<Break[]> {
    const ids = breaks.map((one) => acknowledgementId(one, accountOf(this.options.taskQueue)));
    const known = await this.#find([...new Set(ids)]);
    return breaks.map((one, index) => withAcknowledgement(one, known.get(ids[index] ?? '') ?? null));
  }

  async #find(ids: readonly string[]): Promise<Map<string, Acknowledgement>> {
    const { client } = this.temporal;
    const found = new Map<string, Acknowledgement>();
    for (let start = 0; start < ids.length; start += MAX_WORKFLOWS) {
      const named = ids.slice(start, start + MAX_WORKFLOWS).map((id) => `'${id}'`);
      const query = `WorkflowId IN (${named.join(', ')}) AND ExecutionStatus = 'Running'`;
      const runs = await listRuns(client, query, (call) => this.#within(call));
      // A break whose acknowledgement cannot be decrypted is reported again.
      for (const { workflowId, memo } of await decodeRuns(client, runs, () => undefined)) {
        const acknowledgement = acknowledgementIn(memo);
        if (acknowledgement !== null) found.set(workflowId, acknowledgement);
      }
    }
    return found;
  }

  #within<T>(work: () => Promise<T>): Promise<T> {
    const { bounded, readWithinMs } = this.options;
    return bounded === undefined
      ? within(this.temporal.connection, readWithinMs, work)
      : bounded('list', readWithinMs, work);
  }
}

/**
 * The workflow that keeps the acknowledgement of a break. Temporal does not encrypt its id, so it contains a hash of
 * the break.
 */
export function acknowledgementId(one: Break, account = DEFAULT_ACCOUNT): string {
  return acknowledgementWorkflowId(account, createHash('sha256').update(factsOf(one)).digest('hex').slice(0, 32));
}

function acknowledgementIn(memo: Record<string, unknown> | undefined): Acknowledgement | null {
  const { acknowledgement } = (memo ?? {}) as Partial<AcknowledgementMemo>;
  return acknowledgement ?? null;
}
