import { setTimeout as sleep } from 'node:timers/promises';
import { ApplicationFailure, WithStartWorkflowOperation, WorkflowUpdateFailedError } from '@temporalio/client';
import { webhooks } from '@tillflow/payments-client';
import { checkoutStart } from '@tillflow/temporal';
import {
  begin,
  BEGIN_UPDATE_ID,
  cancel,
  cancelRequest,
  CHECKOUT_WORKFLOW,
  hint,
  newAttempt,
  newAttemptRequest,
  refund,
  refundRequest,
  toRefund,
  type CheckoutInput,
  type CheckoutState,
  type Refund,
} from '@tillflow/workflows';
import {
  AMOUNT,
  isPaidStatus,
  liveAction,
  sampleIntent,
  type Action,
  type ActionOf,
  type Answer,
  type Breach,
  type Guarantee,
  type Way,
} from '@tillflow/workflows/testing';
import fc from 'fast-check';
import { POLICY, type Environment } from './environment.js';

const CAMPAIGN = { by: 'chaos' };
const DECIDED_WITHIN_MS = 60_000;

export type Plan = {
  /** Seconds during which the customer can pay. */
  readonly expiresIn: number;
  readonly maxHistoryEvents: number;
  readonly actions: readonly Action[];
};

/** What a checkout goes through: drawn before it begins, so that the seed alone decides it. */
export const planned: fc.Arbitrary<Plan> = fc.record({
  expiresIn: fc.constantFrom(8, 20, 40),
  maxHistoryEvents: fc.constantFrom(60, 200, 4_000),
  actions: fc.array(liveAction, { minLength: 6, maxLength: 16, size: 'max' }),
});

/** One checkout on the real processes, and everyone who acts on it. */
export class LiveScenario {
  /** What callers were answered, and may rely on. */
  readonly answers: Answer[] = [];
  /** What was seen meanwhile, and must never be seen. */
  readonly breaches: Breach[] = [];
  readonly trace: string[] = [];
  readonly #startedAt = Date.now();
  readonly #undecided: { readonly key: string; readonly amount: number | null }[] = [];
  readonly #paidLate: string[] = [];
  readonly #refundedAtDashboard: string[] = [];
  /** Requests whose callers have gone away. */
  readonly #underWay: Promise<unknown>[] = [];

  constructor(
    private readonly environment: Environment,
    readonly reference: string,
    private readonly plan: Plan,
  ) {}

  get id(): string {
    return `chk_default_${this.reference}`;
  }

  async run(): Promise<void> {
    await this.#start();
    for (const action of this.plan.actions) {
      this.#log(JSON.stringify(action));
      await this.#perform(action);
      await this.#checkView();
    }
    await Promise.all(this.#underWay);
  }

  /** A caller who was answered 202 asks again with the same key, until it is decided. */
  async learnDecisions(): Promise<void> {
    for (const { key, amount } of this.#undecided) {
      const deadline = Date.now() + DECIDED_WITHIN_MS;
      let isDecided = false;
      while (!isDecided && Date.now() < deadline) isDecided = await this.#isRefundDecided(key, amount);
      if (!isDecided) this.#breach(2, `the API never says what became of refund ${key}`);
    }
  }

  /** Tillflow does not poll a charge that has ended: only a webhook tells of money that moves after that. */
  async announceLateChanges(): Promise<void> {
    for (const id of this.#paidLate) await this.#hint('resent', id);
    for (const id of this.#refundedAtDashboard) await this.#hint('direct', id);
  }

  /** The customer who still reviews the payment goes back, so that the charge can be expired. */
  stopConfirming(): void {
    for (const { id, status } of this.environment.chargesOf(this.id)) {
      if (status === 'pending') this.environment.sandbox.mark(id, { status: 'pending' });
    }
  }

  get #workflow() {
    return this.environment.workflowOf(this.reference);
  }

  #log(line: string): void {
    this.trace.push(`${Date.now() - this.#startedAt} ${line}`);
  }

  #breach(guarantee: Guarantee, what: string): void {
    this.breaches.push({ guarantee, checkout: this.id, what });
  }

  /** Starts the checkout as the API does, twice at once, until it is durable. */
  async #start(): Promise<void> {
    const intent = sampleIntent({
      reference: this.reference,
      expires_in: this.plan.expiresIn,
      created_at: new Date().toISOString(),
    });
    const input: CheckoutInput = { intent, policy: { ...POLICY, maxHistoryEvents: this.plan.maxHistoryEvents } };
    const start = (): Promise<unknown> =>
      this.environment.temporal.client.workflow.executeUpdateWithStart(begin, {
        updateId: BEGIN_UPDATE_ID,
        startWorkflowOperation: new WithStartWorkflowOperation(CHECKOUT_WORKFLOW, {
          ...checkoutStart({ intent, requestNonce: 'the campaign' }, this.environment.taskQueue),
          args: [input],
        }),
      });
    while ((await this.environment.memoOf(this.reference)) === null) {
      await Promise.all([this.environment.tolerant(start, 5_000), this.environment.tolerant(start, 5_000)]);
    }
  }

  async #perform(action: Action): Promise<void> {
    const { sandbox } = this.environment;
    const charges = this.environment.chargesOf(this.id);
    const newest = charges.at(-1);
    switch (action.do) {
      case 'wait':
        await sleep(action.ms);
        return;
      case 'pay': {
        const charge = charges.at(-1 - action.back);
        if (charge === undefined || charge.paid) return;
        if (charge.status !== 'pending') this.#paidLate.push(charge.id);
        sandbox.mark(charge.id, { status: 'successful', force: true });
        return;
      }
      case 'confirm':
        if (newest?.status === 'pending') sandbox.mark(newest.id, { status: 'confirming' });
        return;
      case 'decline':
        if (newest?.status === 'pending') sandbox.mark(newest.id, { status: 'failed' });
        return;
      case 'new attempt':
        await this.#requestAttempt(action);
        return;
      case 'cancel':
        await this.#requestCancel(action.by);
        return;
      case 'refund':
        for (let count = 0; count < action.times; count += 1) this.#underWay.push(this.#requestRefund(action));
        return;
      case 'refund at the dashboard': {
        const paid = charges.findLast((one) => one.paid && one.refunded_amount + action.amount <= one.amount);
        if (paid !== undefined) await this.#refundAtDashboard(paid.id, action.amount);
        return;
      }
      case 'hint':
        await this.#hint(action.kind, newest?.id ?? 'chrg_test_unrecognized');
        return;
      case 'lookup':
      case 'adopt':
      case 'continue as new':
      case 'outage':
        throw new Error(`${action.do} is an action of the simulation`);
    }
  }

  async #requestAttempt({ back, by }: ActionOf<'new attempt'>): Promise<void> {
    const state = (await this.environment.memoOf(this.reference))?.state;
    const after = Math.max((state?.attempts.length ?? 1) - back, 1);
    switch (by) {
      case 'signal':
        await this.environment.tolerant(() => this.#workflow.signal(newAttemptRequest, { after }));
        return;
      case 'api':
        await this.#post('attempts', { after });
        return;
      case 'update':
        this.#underWay.push(this.#updateAttempt(after));
    }
  }

  async #requestCancel(by: Way): Promise<void> {
    switch (by) {
      case 'signal':
        await this.environment.tolerant(() => this.#workflow.signal(cancelRequest, CAMPAIGN));
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

  async #updateAttempt(after: number): Promise<void> {
    const number = await this.#update('attempt', () => this.#workflow.executeUpdate(newAttempt, { args: [{ after }] }));
    if (number !== null) this.answers.push({ what: 'attempt', number });
  }

  async #updateCancel(): Promise<void> {
    this.#answeredStatus(
      await this.#update('cancel', () => this.#workflow.executeUpdate(cancel, { args: [CAMPAIGN] })),
    );
  }

  /** A cancelled or paid checkout stays so. After another end a new attempt may follow. */
  #answeredStatus(status: string | null): void {
    if (status !== null && (status === 'cancelled' || isPaidStatus(status))) {
      this.answers.push({ what: 'status', status });
    }
  }

  async #requestRefund({ key, amount, by }: ActionOf<'refund'>): Promise<void> {
    const request = { key, amount, reason: 'the campaign' };
    switch (by) {
      case 'signal':
        await this.environment.tolerant(() => this.#workflow.signal(refundRequest, request));
        return;
      case 'api':
        if (!(await this.#isRefundDecided(key, amount))) this.#undecided.push({ key, amount });
        return;
      case 'update': {
        const update = () => this.#workflow.executeUpdate(refund, { args: [request] });
        const stored = await this.#update(`refund ${key}`, update);
        if (stored !== null) this.answers.push({ what: 'refund', refund: toRefund(stored) });
      }
    }
  }

  /** @returns whether the API answered what became of it. If not, the caller asks again with the same key. */
  async #isRefundDecided(key: string, amount: number | null): Promise<boolean> {
    const answer = await this.#post('refunds', amount === null ? {} : { amount }, { 'idempotency-key': key });
    if (answer === null || answer.status >= 500 || answer.status === 202) return false;
    if (answer.status < 300) this.answers.push({ what: 'refund', refund: answer.json as Refund });
    return true;
  }

  async #post(route: string, body?: object, headers: Readonly<Record<string, string>> = {}) {
    const path = `/v1/checkouts/${this.id}/${route}`;
    const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
    const json = body === undefined ? undefined : JSON.stringify(body);
    const answer = await this.environment.request('POST', path, json, { ...type, ...headers });
    this.#log(`  ${route}: ${answer === null ? 'no answer' : `${answer.status} ${JSON.stringify(answer.json)}`}`);
    return answer;
  }

  /** @returns null for a refusal, and when no answer came. */
  async #update<T>(what: string, send: () => Promise<T>): Promise<T | null> {
    return this.environment.tolerant(async () => {
      try {
        const answer = await send();
        this.#log(`  ${what}: ${JSON.stringify(answer)}`);
        return answer;
      } catch (error) {
        if (!(error instanceof WorkflowUpdateFailedError)) throw error;
        const refusal = error.cause instanceof ApplicationFailure ? error.cause.type : error.cause?.message;
        this.#log(`  ${what} refused: ${refusal}`);
        return null;
      }
    });
  }

  async #refundAtDashboard(chargeId: string, amount: number): Promise<void> {
    const { sandbox } = this.environment;
    this.#refundedAtDashboard.push(chargeId);
    try {
      await fetch(`${sandbox.url}/charges/${chargeId}/refunds`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${sandbox.keys.secret}:`)}` },
        body: new URLSearchParams({ amount: String(amount) }),
        signal: AbortSignal.timeout(2_000),
      });
    } catch {
      // The sandbox's faults affect the dashboard too.
    }
  }

  async #hint(kind: ActionOf<'hint'>['kind'], chargeId: string): Promise<void> {
    const { sandbox } = this.environment;
    switch (kind) {
      case 'resent': {
        const { events = [] } = sandbox.state(['events']);
        const event = events.findLast(({ key, data }) => key === 'charge.complete' && data.id === chargeId);
        if (event !== undefined) sandbox.resend(event.id);
        return;
      }
      case 'direct':
      case 'unrecognized charge': {
        const id = kind === 'direct' ? chargeId : 'chrg_test_unrecognized';
        const event = { eventId: 'evnt_campaign', eventKey: 'charge.update', chargeId: id };
        await this.environment.tolerant(() => this.#workflow.signal(hint, event));
        return;
      }
      case 'forged':
      case 'untrue': {
        const charge = { object: 'charge', id: chargeId, status: 'successful', paid: true, amount: AMOUNT };
        const data = { ...charge, metadata: { checkout: this.id } };
        const body = JSON.stringify({ object: 'event', id: 'evnt_campaign', key: 'charge.complete', data });
        const secret = kind === 'untrue' ? (sandbox.keys.webhookSecrets[0] ?? '') : btoa('a guess');
        const timestamp = Math.floor(Date.now() / 1_000);
        const headers = { 'content-type': 'application/json', ...webhooks.sign(body, { secret, timestamp }) };
        const answer = await this.environment.request('POST', '/webhooks/provider', body, headers);
        if (kind === 'forged' && answer !== null && answer.status < 400) {
          this.#breach(4, 'the API accepted a forged webhook');
        }
      }
    }
  }

  /** Checks what a reader sees: no status paid before a payment, and no more promised than was paid. */
  async #checkView(): Promise<void> {
    const refunds = (await this.environment.memoOf(this.reference))?.refunds ?? [];
    for (const chargeId of new Set(refunds.map((one) => one.charge_id))) {
      const promised = refunds
        .filter((one) => one.charge_id === chargeId && one.status !== 'rejected' && one.reason !== 'made elsewhere')
        .reduce((sum, { amount }) => sum + amount, 0);
      if (promised > AMOUNT) this.#breach(3, `${promised} of ${chargeId} are promised`);
    }
    const answer = await this.environment.request('GET', `/v1/checkouts/${this.id}`);
    if (answer?.status !== 200) return;
    const { status } = answer.json as Pick<CheckoutState, 'status'>;
    this.#log(`  is ${status}`);
    const isPaid = this.environment.chargesOf(this.id).some(({ paid }) => paid);
    if (isPaidStatus(status) && !isPaid) this.#breach(4, `the API shows ${status} before a payment`);
  }
}
