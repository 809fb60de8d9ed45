import { ApplicationFailure, WithStartWorkflowOperation, WorkflowUpdateFailedError } from '@temporalio/client';
import { checkoutStart } from '@tillflow/temporal';
import {
  begin,
  BEGIN_UPDATE_ID,
  cancel,
  cancelRequest,
  CHECKOUT_WORKFLOW,
  newAttempt,
  newAttemptRequest,
  refund,
  refundRequest,
  toRefund,
  type CheckoutInput,
  type CheckoutState,
  type Refund,
} from '@tillflow/workflows';
import { isPaidStatus, sampleIntent, type ActionOf, type Way } from '@tillflow/workflows/testing';
import { POLICY, type Environment } from './environment.js';
import type { LiveCheckout } from './live-checkout.js';

const CAMPAIGN = { by: 'chaos' };
const DECIDED_WITHIN_MS = 60_000;

/** Everyone who sends requests about one checkout, by the API or straight to its workflow. */
export class Callers {
  readonly #undecided: { readonly key: string; readonly amount: number | null }[] = [];
  /** Requests whose callers have gone away. */
  readonly #underWay: Promise<unknown>[] = [];

  readonly #environment: Environment;

  constructor(private readonly checkout: LiveCheckout) {
    this.#environment = checkout.environment;
  }

  /** Starts the checkout as the API does, twice at once, until it is durable. */
  async start(expiresIn: number, maxHistoryEvents: number): Promise<void> {
    const intent = sampleIntent({
      reference: this.checkout.reference,
      expires_in: expiresIn,
      created_at: new Date().toISOString(),
    });
    const input: CheckoutInput = { policy: { ...POLICY, maxHistoryEvents } };
    const start = (): Promise<unknown> =>
      this.#environment.temporal.client.workflow.executeUpdateWithStart(begin, {
        updateId: BEGIN_UPDATE_ID,
        startWorkflowOperation: new WithStartWorkflowOperation(CHECKOUT_WORKFLOW, {
          ...checkoutStart({ intent, requestNonce: 'the campaign' }, this.#environment.taskQueue),
          args: [input],
        }),
      });
    while ((await this.#environment.memoOf(this.checkout.reference)) === null) {
      await Promise.all([this.#environment.tolerant(start, 5_000), this.#environment.tolerant(start, 5_000)]);
    }
  }

  async requestAttempt({ back, by }: ActionOf<'new attempt'>): Promise<void> {
    const state = (await this.#environment.memoOf(this.checkout.reference))?.state;
    const after = Math.max((state?.attempts.length ?? 1) - back, 1);
    switch (by) {
      case 'signal':
        await this.#environment.tolerant(() => this.checkout.workflow.signal(newAttemptRequest, { after }));
        return;
      case 'api':
        await this.#post('attempts', { after });
        return;
      case 'update':
        this.#underWay.push(this.#updateAttempt(after));
    }
  }

  async requestCancel(by: Way): Promise<void> {
    switch (by) {
      case 'signal':
        await this.#environment.tolerant(() => this.checkout.workflow.signal(cancelRequest, CAMPAIGN));
        return;
      case 'api': {
        const answer = await this.#post('cancel');
        if (answer?.status === 200) this.#answeredStatus((answer.json as Pick<CheckoutState, 'status'>).status);
        return;
      }
      case 'update':
        this.#underWay.push(this.#updateCancel());
    }
  }

  /** One caller, or several with the same key at once. None of them waits. */
  requestRefund(action: ActionOf<'refund'>): void {
    for (let count = 0; count < action.times; count += 1) this.#underWay.push(this.#requestRefund(action));
  }

  /** Waits for the requests whose callers have gone away. */
  async allAnswered(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  /** A caller who was answered 202 asks again with the same key, until it is decided. */
  async learnDecisions(): Promise<void> {
    for (const { key, amount } of this.#undecided) {
      const deadline = Date.now() + DECIDED_WITHIN_MS;
      let isDecided = false;
      while (!isDecided && Date.now() < deadline) isDecided = await this.#isRefundDecided(key, amount);
      if (!isDecided) this.checkout.breach(2, `the API never reports the outcome of refund ${key}`);
    }
  }

  async #updateAttempt(after: number): Promise<void> {
    const number = await this.#update('attempt', () =>
      this.checkout.workflow.executeUpdate(newAttempt, { args: [{ after }] }),
    );
    if (number !== null) this.checkout.answers.push({ what: 'attempt', number });
  }

  async #updateCancel(): Promise<void> {
    this.#answeredStatus(
      await this.#update('cancel', () => this.checkout.workflow.executeUpdate(cancel, { args: [CAMPAIGN] })),
    );
  }

  /** A cancelled or paid checkout stays so. After another end a new attempt may follow. */
  #answeredStatus(status: string | null): void {
    if (status !== null && (status === 'cancelled' || isPaidStatus(status))) {
      this.checkout.answers.push({ what: 'status', status });
    }
  }

  async #requestRefund({ key, amount, by }: ActionOf<'refund'>): Promise<void> {
    const request = { key, amount, reason: 'the campaign' };
    switch (by) {
      case 'signal':
        await this.#environment.tolerant(() => this.checkout.workflow.signal(refundRequest, request));
        return;
      case 'api':
        if (!(await this.#isRefundDecided(key, amount))) this.#undecided.push({ key, amount });
        return;
      case 'update': {
        const update = () => this.checkout.workflow.executeUpdate(refund, { args: [request] });
        const stored = await this.#update(`refund ${key}`, update);
        if (stored !== null) this.checkout.answers.push({ what: 'refund', refund: toRefund(stored) });
      }
    }
  }

  /**
   * @returns whether the API answered with the outcome of the refund. If not, the caller asks again with the same key.
   */
  async #isRefundDecided(key: string, amount: number | null): Promise<boolean> {
    const answer = await this.#post('refunds', amount === null ? {} : { amount }, { 'idempotency-key': key });
    if (answer === null || answer.status >= 500 || answer.status === 202) return false;
    if (answer.status < 300) this.checkout.answers.push({ what: 'refund', refund: answer.json as Refund });
    return true;
  }

  async #post(route: string, body?: object, headers: Readonly<Record<string, string>> = {}) {
    const path = `/v1/checkouts/${this.checkout.id}/${route}`;
    const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
    const json = body === undefined ? undefined : JSON.stringify(body);
    const answer = await this.#environment.request('POST', path, json, { ...type, ...headers });
    this.checkout.log(
      `  ${route}: ${answer === null ? 'no answer' : `${answer.status} ${JSON.stringify(answer.json)}`}`,
    );
    return answer;
  }

  /** @returns null for a refusal, and when no answer came. */
  async #update<T>(what: string, send: () => Promise<T>): Promise<T | null> {
    return this.#environment.tolerant(async () => {
      try {
        const answer = await send();
        this.checkout.log(`  ${what}: ${JSON.stringify(answer)}`);
        return answer;
      } catch (error) {
        if (!(error instanceof WorkflowUpdateFailedError)) throw error;
        const refusal = error.cause instanceof ApplicationFailure ? error.cause.type : error.cause?.message;
        this.checkout.log(`  ${what} refused: ${refusal}`);
        return null;
      }
    });
  }
}
