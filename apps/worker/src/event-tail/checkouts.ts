import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { accountOf, instant, parseCheckoutWorkflowId, type CheckoutKey } from '@tillflow/domain';
import {
  checkoutStart,
  decodeRunWithoutMemo,
  listRuns,
  openCheckoutsOfCharges,
  readCheckout,
  sendHint,
  UnreadablePayloadError,
} from '@tillflow/temporal';
import { decodeArrayFromPayloads } from '@tillflow/temporal/sdk-internals';
import {
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

/** A checkout as the event tail finds it in Temporal. */
export type FoundCheckout =
  | { readonly is: 'open'; readonly memo: CheckoutMemo }
  /** The key that decrypts its memo is not configured. A hint can still reach it if it is open. */
  | { readonly is: 'unreadable' }
  | { readonly is: 'closed'; readonly memo: CheckoutMemo; readonly run: WorkflowExecutionDescription }
  | { readonly is: 'absent' };

type Closed = Extract<FoundCheckout, { is: 'closed' }>;

/** One search names at most this many charges. */
const SEARCH_SIZE = 50;

/** Finds, hints and reopens checkouts for the event tail. Throws Temporal's own errors while Temporal is down. */
export class TailCheckouts {
  constructor(
    private readonly client: Client,
    private readonly taskQueue: string,
  ) {}

  async find(key: CheckoutKey): Promise<FoundCheckout> {
    try {
      const found = await readCheckout(this.client, key);
      if (found === null) return { is: 'absent' };
      const { checkout: memo, run } = found;
      return memo.closed ? { is: 'closed', memo, run } : { is: 'open', memo };
    } catch (error) {
      if (error instanceof UnreadablePayloadError) return { is: 'unreadable' };
      throw error;
    }
  }

  /** @returns false when the checkout has closed meanwhile. Durable when it returns true. */
  hint(key: CheckoutKey, content: Hint): Promise<boolean> {
    return sendHint(this.client, key, content);
  }

  /** The open checkouts that have these charges, by charge. */
  async findByCharges(chargeIds: readonly string[]): Promise<ReadonlyMap<string, CheckoutKey>> {
    const found = new Map<string, CheckoutKey>();
    for (let start = 0; start < chargeIds.length; start += SEARCH_SIZE) {
      const query = openCheckoutsOfCharges(chargeIds.slice(start, start + SEARCH_SIZE), accountOf(this.taskQueue));
      for (const run of await listRuns(this.client, query)) {
        const { workflowId, typedSearchAttributes } = await decodeRunWithoutMemo(this.client, run);
        const key = parseCheckoutWorkflowId(workflowId);
        const charges = typedSearchAttributes.get(searchAttributes.chargeId) ?? [];
        if (key?.account !== accountOf(this.taskQueue)) continue;
        for (const id of charges) found.set(id, key);
      }
    }
    return found;
  }

  /**
   * Starts a closed checkout again under its own id and hints the charge, so that the same rules apply to the payment
   * as before the checkout closed. If another process has reopened it meanwhile, it only gets the hint.
   */
  async reopen({ memo, run }: Closed, late: ChargeFacts, content: Hint): Promise<void> {
    const input = reopen(memo, await this.#policyOf(run), late, instant(Date.now()));
    await this.client.workflow.signalWithStart(CHECKOUT_WORKFLOW, {
      ...checkoutStart(memo, this.taskQueue),
      args: [input],
      signal: hint,
      signalArgs: [content],
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      memo: { ...run.memo },
      // The attributes of the closed run name all of its charges; the memo names only those of attempts.
      typedSearchAttributes: run.typedSearchAttributes,
    });
  }

  /** The policy of the closed run: it decided whether Tillflow keeps a late payment. */
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
}
