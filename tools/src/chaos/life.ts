import { setTimeout as sleep } from 'node:timers/promises';
import { ApplicationFailure, WithStartWorkflowOperation, WorkflowUpdateFailedError } from '@temporalio/client';
import { webhooks } from '@tillflow/payments-client';
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
  searchAttributes,
  type CheckoutInput,
  type CheckoutIntent,
  type CheckoutMemo,
  type CheckoutState,
  type Refund,
  toRefund,
} from '@tillflow/workflows';
import type { Breach, Guarantee, Promised } from './audit.js';
import type { Random } from './random.js';
import { POLICY, type World } from './world.js';

const AMOUNT = 150_000;
const CAMPAIGN = { by: 'chaos' };
const LEARNT_WITHIN_MS = 60_000;
const WAYS: readonly [Way, ...Way[]] = ['api', 'api', 'update', 'signal'];
const PAID: ReadonlySet<string> = new Set(['paid', 'partially_refunded', 'refunded']);

/** How something is asked for: as tills do, or past the API. */
type Way = 'api' | 'update' | 'signal';

/** One thing that people, a wallet or a network do to a checkout. */
type Deed =
  | { readonly what: 'wait' }
  /** `back`: 0 is the newest charge; an old one is paid although it was ended. */
  | { readonly what: 'pay'; readonly back: number }
  | { readonly what: 'confirm' }
  | { readonly what: 'decline' }
  | { readonly what: 'attempt'; readonly back: number; readonly by: Way }
  | { readonly what: 'cancel'; readonly by: Way }
  | {
      readonly what: 'refund';
      readonly key: string;
      readonly amount: number | null;
      /** At once, as impatient callers do. */
      readonly times: number;
      readonly by: Way;
    }
  | { readonly what: 'refund elsewhere'; readonly amount: number }
  | { readonly what: 'hint'; readonly kind: 'resent' | 'direct' | 'forged' | 'lying' | 'of a stranger' };

export type Plan = {
  readonly reference: string;
  readonly expiresIn: number;
  readonly maxHistoryEvents: number;
  readonly deeds: readonly { readonly afterMs: number; readonly deed: Deed }[];
};

/** What a checkout will go through: drawn before it begins, so that the seed alone decides it. */
export function plan(reference: string, random: Random): Plan {
  const deeds = Array.from({ length: random.between(5, 12) }, () => ({
    afterMs: random.pick([0, 0, 50, 200, 600, 1_500]),
    deed: drawDeed(random),
  }));
  return {
    reference,
    expiresIn: random.pick([8, 20, 40]),
    maxHistoryEvents: random.pick([60, 200, 4_000]),
    deeds,
  };
}

function drawDeed(random: Random): Deed {
  const draw = random.weighted<() => Deed>([
    [2, () => ({ what: 'wait' })],
    [6, () => ({ what: 'pay', back: random.pick([0, 0, 0, 1, 2]) })],
    [1, () => ({ what: 'confirm' })],
    [1, () => ({ what: 'decline' })],
    [3, () => ({ what: 'attempt', back: random.pick([0, 0, 1]), by: random.pick(WAYS) })],
    [2, () => ({ what: 'cancel', by: random.pick(WAYS) })],
    [
      5,
      () => ({
        what: 'refund',
        key: random.pick(['a', 'b', 'c', 'd']),
        amount: random.pick([null, AMOUNT, 50_000, 100_000, 1]),
        times: random.pick([1, 1, 2, 3]),
        by: random.pick(WAYS),
      }),
    ],
    [1, () => ({ what: 'refund elsewhere', amount: random.pick([20_000, AMOUNT]) })],
    [3, () => ({ what: 'hint', kind: random.pick(['resent', 'direct', 'forged', 'lying', 'of a stranger']) })],
  ]);
  return draw();
}

/** One checkout, and everyone who has to do with it. */
export class Life {
  readonly promised: Promised[] = [];
  /** What was seen while it went on, and must never be seen. */
  readonly seen: Breach[] = [];
  readonly trace: string[] = [];
  readonly #startedAt = Date.now();
  readonly #toBeLearnt: { readonly key: string; readonly amount: number | null }[] = [];
  readonly #paidLate: string[] = [];
  readonly #refundedElsewhere: string[] = [];
  /** Answers that nobody waits for: people go away, and their requests do not. */
  readonly #underWay: Promise<unknown>[] = [];

  constructor(
    private readonly world: World,
    readonly plan: Plan,
  ) {}

  get id(): string {
    return `chk_default_${this.plan.reference}`;
  }

  async run(): Promise<void> {
    await this.#begin();
    for (const { afterMs, deed } of this.plan.deeds) {
      await sleep(afterMs);
      this.#log(JSON.stringify(deed));
      await this.#do(deed);
      await this.#look();
    }
    await Promise.all(this.#underWay);
  }

  /** Whoever was told "not known yet" asks again, and learns it. */
  async learnTheRest(): Promise<void> {
    for (const { key, amount } of this.#toBeLearnt) {
      const deadline = Date.now() + LEARNT_WITHIN_MS;
      let isDecided = false;
      while (!isDecided && Date.now() < deadline) isDecided = await this.#isRefundDecided(key, amount);
      if (!isDecided) this.#sawBreach(2, `nobody learns what became of refund ${key}`);
    }
  }

  /** Nobody looks at what was seen to have ended: of money that moves after that, only a webhook tells. */
  async announceLateNews(): Promise<void> {
    for (const id of this.#paidLate) await this.#hint('resent', id);
    for (const id of this.#refundedElsewhere) await this.#hint('direct', id);
  }

  /** The customer who still reviews the payment turns back, so that every charge can come to its end. */
  turnBack(): void {
    for (const { id, status } of this.world.chargesOf(this.id)) {
      if (status === 'pending') this.world.sandbox.mark(id, { status: 'pending' });
    }
  }

  #log(line: string): void {
    this.trace.push(`${Date.now() - this.#startedAt} ${line}`);
  }

  /** As the API does, until it is durable: a repeated request is the same checkout. */
  async #begin(): Promise<void> {
    const { reference, expiresIn, maxHistoryEvents } = this.plan;
    const intent: CheckoutIntent = {
      id: this.id,
      account: 'default',
      reference,
      amount: AMOUNT,
      currency: 'THB',
      description: null,
      metadata: {},
      terminal: null,
      expires_in: expiresIn,
      source: null,
      created_at: new Date().toISOString(),
    };
    const input: CheckoutInput = { intent, policy: { ...POLICY, maxHistoryEvents } };
    const start = (): Promise<unknown> =>
      this.world.temporal.client.workflow.executeUpdateWithStart(begin, {
        updateId: BEGIN_UPDATE_ID,
        startWorkflowOperation: new WithStartWorkflowOperation(CHECKOUT_WORKFLOW, {
          workflowId: `checkout/default/${reference}`,
          taskQueue: this.world.taskQueue,
          args: [input],
          workflowIdConflictPolicy: 'USE_EXISTING',
          workflowIdReusePolicy: 'REJECT_DUPLICATE',
          memo: { intent, requestNonce: 'the campaign' } satisfies CheckoutMemo,
          typedSearchAttributes: [
            { key: searchAttributes.status, value: 'awaiting_payment' },
            { key: searchAttributes.reference, value: reference },
          ],
        }),
      });
    while ((await this.world.memoOf(reference)) === null) {
      await Promise.all([this.world.tolerant(start, 5_000), this.world.tolerant(start, 5_000)]);
    }
  }

  async #do(deed: Deed): Promise<void> {
    const { world } = this;
    const charges = world.chargesOf(this.id);
    const newest = charges.at(-1);
    switch (deed.what) {
      case 'wait':
        return;
      case 'pay': {
        const charge = charges.at(-1 - deed.back);
        if (charge === undefined || charge.paid) return;
        if (charge.status !== 'pending') this.#paidLate.push(charge.id);
        world.sandbox.mark(charge.id, { status: 'successful', force: true });
        return;
      }
      case 'confirm':
        if (newest?.status === 'pending') world.sandbox.mark(newest.id, { status: 'confirming' });
        return;
      case 'decline':
        if (newest?.status === 'pending') world.sandbox.mark(newest.id, { status: 'failed' });
        return;
      case 'attempt':
        await this.#askForAttempt(deed);
        return;
      case 'cancel':
        await this.#askForCancel(deed.by);
        return;
      case 'refund':
        for (let count = 0; count < deed.times; count += 1) this.#underWay.push(this.#askForRefund(deed));
        return;
      case 'refund elsewhere': {
        const paid = charges.findLast((charge) => charge.paid && charge.refunded_amount + deed.amount <= charge.amount);
        if (paid !== undefined) await this.#refundElsewhere(paid.id, deed.amount);
        return;
      }
      case 'hint':
        await this.#hint(deed.kind, newest?.id ?? 'chrg_test_nowhere');
    }
  }

  async #askForAttempt({ back, by }: Extract<Deed, { what: 'attempt' }>): Promise<void> {
    const state = (await this.world.memoOf(this.plan.reference))?.state;
    const after = Math.max((state?.attempts.length ?? 1) - back, 1);
    const workflow = this.world.workflowOf(this.plan.reference);
    switch (by) {
      case 'signal':
        await this.world.tolerant(() => workflow.signal(newAttemptRequest, { after }));
        return;
      case 'api':
        await this.#post('attempts', { after });
        return;
      case 'update':
        this.#underWay.push(this.#waitForAttempt(after));
    }
  }

  async #waitForAttempt(after: number): Promise<void> {
    const workflow = this.world.workflowOf(this.plan.reference);
    const number = await this.#ask('attempt', () => workflow.executeUpdate(newAttempt, { args: [{ after }] }));
    if (number !== null) this.promised.push({ what: 'attempt', number });
  }

  async #waitForCancel(): Promise<void> {
    const workflow = this.world.workflowOf(this.plan.reference);
    this.#promiseStatus(await this.#ask('cancel', () => workflow.executeUpdate(cancel, { args: [CAMPAIGN] })));
  }

  async #askForCancel(by: Way): Promise<void> {
    const workflow = this.world.workflowOf(this.plan.reference);
    switch (by) {
      case 'signal':
        await this.world.tolerant(() => workflow.signal(cancelRequest, CAMPAIGN));
        return;
      case 'api': {
        const answer = await this.#post('cancel');
        if (answer?.status === 200) this.#promiseStatus((answer.json as Pick<CheckoutState, 'status'>).status);
        return;
      }
      case 'update':
        this.#underWay.push(this.#waitForCancel());
    }
  }

  /** Only these two are for good: after another end a new attempt may be asked for. */
  #promiseStatus(status: string | null): void {
    if (status === 'cancelled' || (status !== null && PAID.has(status))) {
      this.promised.push({ what: 'status', status });
    }
  }

  async #askForRefund({ key, amount, by }: Extract<Deed, { what: 'refund' }>): Promise<void> {
    const workflow = this.world.workflowOf(this.plan.reference);
    const request = { key, amount, reason: 'the campaign' };
    switch (by) {
      case 'signal':
        await this.world.tolerant(() => workflow.signal(refundRequest, request));
        return;
      case 'api': {
        if (!(await this.#isRefundDecided(key, amount))) this.#toBeLearnt.push({ key, amount });
        return;
      }
      case 'update': {
        const told = await this.#ask(`refund ${key}`, () => workflow.executeUpdate(refund, { args: [request] }));
        if (told !== null) this.promised.push({ what: 'refund', refund: toRefund(told) });
      }
    }
  }

  /** @returns whether the API said what became of it; if not, the same key is to be asked for again. */
  async #isRefundDecided(key: string, amount: number | null): Promise<boolean> {
    const body = amount === null ? {} : { amount };
    const answer = await this.#post('refunds', body, { 'idempotency-key': key });
    if (answer === null || answer.status >= 500 || answer.status === 202) return false;
    if (answer.status < 300) this.promised.push({ what: 'refund', refund: answer.json as Refund });
    return true;
  }

  async #post(route: string, body?: object, headers: Readonly<Record<string, string>> = {}) {
    const json = body === undefined ? undefined : JSON.stringify(body);
    const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
    const answer = await this.world.request('POST', `/v1/checkouts/${this.id}/${route}`, json, { ...type, ...headers });
    this.#log(`  ${route}: ${answer === null ? 'no answer' : `${answer.status} ${JSON.stringify(answer.json)}`}`);
    return answer;
  }

  /** @returns null for a refusal, and when nobody answered. */
  async #ask<T>(what: string, send: () => Promise<T>): Promise<T | null> {
    return this.world.tolerant(async () => {
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

  async #refundElsewhere(chargeId: string, amount: number): Promise<void> {
    const { sandbox } = this.world;
    this.#refundedElsewhere.push(chargeId);
    try {
      await fetch(`${sandbox.url}/charges/${chargeId}/refunds`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${sandbox.keys.secret}:`)}` },
        body: new URLSearchParams({ amount: String(amount) }),
        signal: AbortSignal.timeout(2_000),
      });
    } catch {
      // The faults strike the dashboard too.
    }
  }

  async #hint(kind: Extract<Deed, { what: 'hint' }>['kind'], chargeId: string): Promise<void> {
    const { sandbox } = this.world;
    const workflow = this.world.workflowOf(this.plan.reference);
    switch (kind) {
      case 'resent': {
        const { events = [] } = sandbox.state(['events']);
        const event = events.findLast(({ key, data }) => key === 'charge.complete' && data.id === chargeId);
        if (event !== undefined) sandbox.resend(event.id);
        return;
      }
      case 'direct':
      case 'of a stranger': {
        const id = kind === 'direct' ? chargeId : 'chrg_test_stranger';
        const news = { eventId: 'evnt_campaign', eventKey: 'charge.update', chargeId: id };
        await this.world.tolerant(() => workflow.signal(hint, news));
        return;
      }
      case 'forged':
      case 'lying': {
        const charge = { object: 'charge', id: chargeId, status: 'successful', paid: true, amount: AMOUNT };
        const data = { ...charge, metadata: { checkout: this.id } };
        const body = JSON.stringify({ object: 'event', id: 'evnt_lie', key: 'charge.complete', data });
        const secret = kind === 'lying' ? (sandbox.keys.webhookSecrets[0] ?? '') : btoa('a guess');
        const timestamp = Math.floor(Date.now() / 1_000);
        const headers = { 'content-type': 'application/json', ...webhooks.sign(body, { secret, timestamp }) };
        const answer = await this.world.request('POST', '/webhooks/provider', body, headers);
        if (kind === 'forged' && answer !== null && answer.status < 400)
          this.#sawBreach(4, 'a forged webhook was taken');
      }
    }
  }

  /** Whoever reads the checkout must not be told of money that did not come, nor be promised more than was paid. */
  async #look(): Promise<void> {
    const refunds = (await this.world.memoOf(this.plan.reference))?.refunds ?? [];
    for (const chargeId of new Set(refunds.map((one) => one.charge_id))) {
      const promised = refunds
        .filter((one) => one.charge_id === chargeId && one.status !== 'rejected' && one.reason !== 'made elsewhere')
        .reduce((sum, { amount }) => sum + amount, 0);
      if (promised > AMOUNT) this.#sawBreach(3, `${promised} of ${chargeId} were promised`);
    }
    const answer = await this.world.request('GET', `/v1/checkouts/${this.id}`);
    if (answer?.status !== 200) return;
    const { status } = answer.json as Pick<CheckoutState, 'status'>;
    this.#log(`  is ${status}`);
    const isPaid = this.world.chargesOf(this.id).some(({ paid }) => paid);
    if (PAID.has(status) && !isPaid) this.#sawBreach(4, `it was shown as ${status} before anyone paid`);
  }

  #sawBreach(guarantee: Guarantee, what: string): void {
    this.seen.push({ guarantee, checkout: this.id, what });
  }
}
