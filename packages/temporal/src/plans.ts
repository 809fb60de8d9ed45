import { WorkflowNotFoundError } from '@temporalio/client';
import { executionInfoFromRaw } from '@temporalio/client/lib/helpers.js';
import { DEFAULT_ACCOUNT } from '@tillflow/domain';
import {
  COMMAND_WORKFLOW,
  resolvePlan,
  type CommandMemo,
  type OpenQuestion,
  type PlanDecision,
  type Resolution,
} from '@tillflow/workflows';
import type { Temporal } from './connection.js';
import { UnreadablePayloadError } from './encryption-codec.js';
import { isClosed, refusalOf } from './failures.js';
import { within } from './within.js';

/** A plan that was asked for, and whose outcome is not known yet. */
export type PlanUnderWay = {
  /** Names the request; the plan has no id yet. */
  readonly id: string;
  readonly asked_at: string;
  /** The name of the API key. */
  readonly by: string;
  /** What a person has to decide; null while the machine is still at it. */
  readonly undecided: OpenQuestion | null;
};

/** What became of a decision about a plan. */
export type PlanResolved =
  | { readonly kind: 'answered'; readonly answer: PlanDecision }
  | { readonly kind: 'refused'; readonly reason: string }
  /** There is no such request, or it has ended. */
  | { readonly kind: 'closed' };

/** How the workflow ids of plans that are made begin. */
const PREFIX = `command/${DEFAULT_ACCOUNT}/create_plan/`;

/** Plans on their way, as Temporal keeps them. Throws what Temporal's client throws. */
export class PlansUnderWay {
  constructor(
    private readonly temporal: Pick<Temporal, 'client' | 'connection'>,
    private readonly options: { readonly taskQueue: string; readonly readWithinMs: number },
  ) {}

  /**
   * All of them, those first that wait for a person.
   * @param onUnreadable told of each that cannot be read and is left out: the others are worth reading.
   */
  async list(onUnreadable: (workflowId: string) => void): Promise<PlanUnderWay[]> {
    const { connection, client } = this.temporal;
    const { namespace } = client.options;
    const { loadedDataConverter } = client.workflow.options;
    const query = [
      `WorkflowType = '${COMMAND_WORKFLOW}'`,
      `ExecutionStatus = 'Running'`,
      `TaskQueue = '${this.options.taskQueue}'`,
      `WorkflowId STARTS_WITH '${PREFIX}'`,
    ].join(' AND ');
    const plans: PlanUnderWay[] = [];
    let nextPageToken: Uint8Array = new Uint8Array();
    do {
      const page = await within(connection, this.options.readWithinMs, () =>
        connection.workflowService.listWorkflowExecutions({ namespace, query, nextPageToken }),
      );
      for (const raw of page.executions) {
        try {
          const { workflowId, memo } = await executionInfoFromRaw(raw, loadedDataConverter, undefined, namespace);
          // Written by this product alone.
          const { audit, undecided = null } = memo as CommandMemo;
          plans.push({ id: workflowId.slice(PREFIX.length), asked_at: audit.asked_at, by: audit.by, undecided });
        } catch (error) {
          if (!(error instanceof UnreadablePayloadError)) throw error;
          onUnreadable(raw.execution?.workflowId ?? '');
        }
      }
      ({ nextPageToken } = page);
    } while (nextPageToken.length > 0);
    return plans.toSorted((a, b) => Number(b.undecided !== null) - Number(a.undecided !== null));
  }

  /** An operator's decision. @throws {TooSlowError} when no worker took it in time: it may still be carried out. */
  async resolve(id: string, resolution: Resolution, withinMs: number): Promise<PlanResolved> {
    const workflow = this.temporal.client.workflow.getHandle(`${PREFIX}${id}`);
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
