import { WorkflowNotFoundError, type Client, type WorkflowExecutionDescription } from '@temporalio/client';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/codec-helpers.js';
import { checkoutWorkflowId, instant, parseCheckoutWorkflowId, type CheckoutKey } from '@tillflow/domain';
import { UnreadablePayloadError } from '@tillflow/temporal';
import {
  AFTERCARE_WORKFLOW,
  CHECKOUT_WORKFLOW,
  hint,
  reopen,
  searchAttributes,
  type ChargeFacts,
  type CheckoutInput,
  type CheckoutMemo,
  type CheckoutPolicy,
  type Hint,
} from '@tillflow/workflows';
import { listRuns } from './runs.js';

/** What the engine has of a checkout. */
export type FoundCheckout =
  | { readonly is: 'open'; readonly memo: CheckoutMemo }
  /** A key to read what it knows is missing. If it is open, it can be told all the same. */
  | { readonly is: 'unreadable' }
  | { readonly is: 'closed'; readonly memo: CheckoutMemo; readonly run: WorkflowExecutionDescription }
  | { readonly is: 'absent' };

/** A search may name as many charges at once. */
const SEARCH_SIZE = 50;

/** The checkouts as the event tail needs them: found, told to look, opened again. */
export class TailCheckouts {
  constructor(
    private readonly client: Client,
    private readonly taskQueue: string,
  ) {}

  /** @throws Temporal's own errors while it is down. */
  async find(key: CheckoutKey): Promise<FoundCheckout> {
    try {
      const run = await this.#handle(key).describe();
      const memo = (run.memo ?? {}) as Partial<CheckoutMemo>;
      if (!isWhole(memo)) return { is: 'absent' };
      return run.status.name === 'RUNNING' ? { is: 'open', memo } : { is: 'closed', memo, run };
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return { is: 'absent' };
      if (error instanceof UnreadablePayloadError) return { is: 'unreadable' };
      throw error;
    }
  }

  /** @returns false when it closed meanwhile. Durable when it returns true. */
  async hint(key: CheckoutKey, news: Hint): Promise<boolean> {
    try {
      await this.#handle(key).signal(hint, news);
      return true;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return false;
      throw error;
    }
  }

  /** The open checkouts that have these charges, by charge. */
  async findByCharges(chargeIds: readonly string[]): Promise<ReadonlyMap<string, CheckoutKey>> {
    const found = new Map<string, CheckoutKey>();
    for (let start = 0; start < chargeIds.length; start += SEARCH_SIZE) {
      const sought = chargeIds.slice(start, start + SEARCH_SIZE);
      const query = [
        `WorkflowType IN ('${CHECKOUT_WORKFLOW}', '${AFTERCARE_WORKFLOW}')`,
        `ExecutionStatus = 'Running'`,
        `${searchAttributes.chargeId.name} IN (${sought.map((id) => `'${id}'`).join(', ')})`,
      ].join(' AND ');
      for await (const { workflowId, typedSearchAttributes } of listRuns(this.client, query)) {
        const key = parseCheckoutWorkflowId(workflowId);
        const charges = typedSearchAttributes.get(searchAttributes.chargeId) ?? [];
        if (key !== null) for (const id of charges) found.set(id, key);
      }
    }
    return found;
  }

  /**
   * Opens a closed checkout again under its own id and tells it of the charge: the same rules that would have met the
   * payment a day earlier meet it now. One that was opened by someone else meanwhile is only told.
   */
  async reopen(key: CheckoutKey, { memo, run }: Closed, late: ChargeFacts, news: Hint): Promise<void> {
    const input = reopen(memo, await this.#policyOf(run), late, instant(Date.now()));
    const summary = await run.staticSummary();
    await this.client.workflow.signalWithStart(CHECKOUT_WORKFLOW, {
      workflowId: checkoutWorkflowId(key),
      taskQueue: this.taskQueue,
      args: [input],
      signal: hint,
      signalArgs: [news],
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      workflowIdConflictPolicy: 'USE_EXISTING',
      memo: { ...run.memo },
      typedSearchAttributes: run.typedSearchAttributes,
      ...(summary === undefined ? {} : { staticSummary: summary }),
    });
  }

  /** What the closed run was started with: whether late money is kept is the decision of then. */
  async #policyOf({ workflowId, runId }: WorkflowExecutionDescription): Promise<Partial<CheckoutPolicy> | undefined> {
    const { namespace, loadedDataConverter } = this.client.options;
    const { history } = await this.client.workflowService.getWorkflowExecutionHistory({
      namespace,
      execution: { workflowId, runId },
      maximumPageSize: 1,
    });
    const payloads = history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads;
    const [input] = (await decodeArrayFromPayloads(loadedDataConverter, payloads)) as [Partial<CheckoutInput>?];
    return input?.policy;
  }

  #handle(key: CheckoutKey) {
    return this.client.workflow.getHandle(checkoutWorkflowId(key));
  }
}

type Closed = Extract<FoundCheckout, { is: 'closed' }>;

/** The memo is written by this product alone; a workflow without it is none of our checkouts. */
function isWhole(memo: Partial<CheckoutMemo>): memo is CheckoutMemo {
  return memo.intent !== undefined;
}
