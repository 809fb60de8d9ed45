import { WorkflowNotFoundError } from '@temporalio/client';
import { accountOf } from '@tillflow/domain';
import {
  COMMAND_WORKFLOW,
  resolvePlan,
  type CommandMemo,
  type PendingDecision,
  type PlanDecision,
  type Resolution,
} from '@tillflow/workflows';
import { within } from './connection/bounded-call.js';
import type { Temporal } from './connection/connection.js';
import { isClosed, refusalOf } from './connection/failures.js';
import { decodeRuns, listRuns, type OnUnreadable } from './listed-runs.js';

/** A requested plan whose outcome is not known yet. */
export type PendingPlan = {
  /** Identifies the request; the plan has no id yet. */
  readonly id: string;
  readonly asked_at: string;
  /** The name of the API key. */
  readonly by: string;
  /** The decision that a person has to make; null while Tillflow is still working on it. */
  readonly undecided: PendingDecision | null;
};

/** The result of a decision about a plan. */
export type PlanResolved =
  | { readonly kind: 'answered'; readonly answer: PlanDecision }
  | { readonly kind: 'refused'; readonly reason: string }
  /** No such request exists, or it has ended. */
  | { readonly kind: 'closed' };

/** Plans that are being created, as Temporal stores them. Throws what Temporal's client throws. */
export class PendingPlans {
  /** The workflow ids of plans that are being created begin with it. */
  readonly #prefix: string;

  constructor(
    private readonly temporal: Pick<Temporal, 'client' | 'connection'>,
    private readonly options: { readonly taskQueue: string; readonly readWithinMs: number },
  ) {
    this.#prefix = `command/${accountOf(options.taskQueue)}/create_plan/`;
  }

  /** All plans with an unknown outcome, those that wait for a decision first. */
  async list(onUnreadable: OnUnreadable): Promise<PendingPlan[]> {
    const { connection, client } = this.temporal;
    const query = [
      `WorkflowType = '${COMMAND_WORKFLOW}'`,
      `ExecutionStatus = 'Running'`,
      `TaskQueue = '${this.options.taskQueue}'`,
      `WorkflowId STARTS_WITH '${this.#prefix}'`,
    ].join(' AND ');
    const runs = await listRuns(client, query, (call) => within(connection, this.options.readWithinMs, call));
    const plans = (await decodeRuns(client, runs, onUnreadable)).map(({ workflowId, memo }): PendingPlan => {
      // Only Tillflow writes the memo.
      const { audit, undecided = null } = memo as CommandMemo;
      return { id: workflowId.slice(this.#prefix.length), asked_at: audit.asked_at, by: audit.by, undecided };
    });
    return plans.toSorted((a, b) => Number(b.undecided !== null) - Number(a.undecided !== null));
  }

  /**
   * Sends an operator's decision. @throws {TooSlowError} when no worker accepted it in time: it may still be carried
   * out.
   */
  async resolve(id: string, resolution: Resolution, withinMs: number): Promise<PlanResolved> {
    const workflow = this.temporal.client.workflow.getHandle(`${this.#prefix}${id}`);
    try {
      const answer = await within(this.temporal.connection, withinMs, () =>
        workflow.executeUpdate(resolvePlan, { args: [resolution] }),
      );
      return { kind: 'answered', answer };
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal !== null) return { kind: 'refused', reason: refusal.reason };
      if (isClosed(error) || error instanceof WorkflowNotFoundError) return { kind: 'closed' };
      throw error;
    }
  }
}
