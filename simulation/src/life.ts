import { compareRecords, type ProviderRecords } from '@tillflow/tools/chaos';
import type { ChargeJson } from '@tillflow/sandbox';
import { webhooks } from '@tillflow/payments-client';
import { resolve, type CheckoutMemo, type Refund } from '@tillflow/workflows';
import { checkAlways, type Answer, type Breach } from '@tillflow/workflows/testing';
import type { Faults } from './faults.js';
import type { Beat, LifePlan, Moment, PersonAction } from './plan.js';
import { Random } from './random.js';
import { running } from './virtual/time.js';
import type { TillAnswer, World } from './world.js';

const AMOUNT = 150_000;
const PAID: ReadonlySet<string> = new Set(['paid', 'partially_refunded', 'refunded']);
const ENDS: ReadonlySet<string> = new Set(['expired', 'failed', 'cancelled']);
/** How often a person looks whether the checkout has come so far, and for how long. Milliseconds. */
const LOOK_EVERY_MS = 250;
const LOOK_FOR_MS = 40_000;
/** A till repeats a request without a certain answer. Milliseconds. */
const REPEAT_AFTER_MS = 2_000;
const REPEATS = 4;

/** One checkout with its people, from the first request on. */
export class Life {
  readonly #answers: Answer[] = [];
  readonly #random: Random;
  readonly #underWay: Promise<unknown>[] = [];
  #refunds = 0;
  readonly breaches: Breach[] = [];
  readonly reached = new Set<Moment>();

  constructor(
    private readonly world: World,
    private readonly faults: Faults,
    readonly plan: LifePlan,
  ) {
    this.#random = new Random(`${world.seed}/people/${plan.reference}`);
  }

  get id(): string {
    return `chk_default_${this.plan.reference}`;
  }

  /** What the engine stores of the checkout. */
  get memo(): CheckoutMemo | null {
    return this.world.memoOf(`checkout/default/${this.plan.reference}`);
  }

  get #status(): string {
    return this.memo?.state?.status ?? 'creating';
  }

  get charges(): readonly ChargeJson[] {
    return this.world.chargesOf(this.id);
  }

  async run(): Promise<void> {
    const { world, plan } = this;
    await world.time.sleep(plan.beginsAfter);
    world.note(`${plan.reference} begins`);
    const [first] = plan.beats;
    if (first?.moment === 'creating') this.faults.cause(first.fault);
    const creating = this.#create();
    this.#underWay.push(creating);
    for (const beat of plan.beats) await this.#play(beat, creating);
    await Promise.all(this.#underWay);
  }

  async #play({ moment, fault, action }: Beat, creating: Promise<unknown>): Promise<void> {
    if (moment === 'creating') {
      await this.world.time.sleep(this.#random.integer(0, 30));
      this.reached.add(moment);
    } else {
      await creating;
      if (await this.#reach(moment)) this.reached.add(moment);
      this.faults.cause(fault);
    }
    this.world.note(`${this.plan.reference} ${this.#status}: ${action}`);
    this.#do(action);
    await this.world.time.sleep(this.#random.pick([0, 20, 400, 3_000]));
    this.#look();
  }

  /** Brings the checkout to a moment of its life, where that is still possible. */
  async #reach(moment: Moment): Promise<boolean> {
    switch (moment) {
      case 'creating':
        return true;
      case 'awaiting':
        return this.#until(() => this.#status !== 'creating');
      case 'paying':
        await this.#until(() => this.#status !== 'creating');
        return this.#pay(0);
      case 'paid':
        if (!PAID.has(this.#status)) this.#pay(0);
        return this.#until(() => PAID.has(this.#status) || ENDS.has(this.#status));
      case 'refunding':
        if (!PAID.has(this.#status)) this.#pay(0);
        if (!(await this.#until(() => PAID.has(this.#status)))) return false;
        this.#later(this.#refund(10_000));
        await this.world.time.sleep(this.#random.integer(0, 12));
        return true;
      case 'ended':
        if (PAID.has(this.#status) || ENDS.has(this.#status)) return true;
        if (this.#random.chance(0.5)) this.#mark('failed');
        else this.#later(this.#cancel());
        return this.#until(() => PAID.has(this.#status) || ENDS.has(this.#status));
    }
  }

  #do(action: PersonAction): void {
    switch (action) {
      case 'waits':
        return;
      case 'pays':
        this.#pay(0);
        return;
      case 'pays an older code too':
        this.#later(this.#payTwo());
        return;
      case 'declines':
        this.#mark('failed');
        return;
      case 'reviews for a minute':
        this.#mark('confirming');
        this.world.time.after(60_000, () => this.stopReviewing(), undefined);
        return;
      case 'cancels':
        this.#later(this.#cancel());
        return;
      case 'asks for a new attempt':
        this.#later(this.#newAttempt());
        return;
      case 'refunds a part':
        this.#later(this.#refund(20_000));
        return;
      case 'refunds all':
        this.#later(this.#refund(null));
        return;
      case 'refunds twice with one key': {
        this.#refunds += 1;
        const key = `key-${this.#refunds}`;
        this.#later(this.#refund(30_000, key));
        this.#later(this.#refund(30_000, key));
        return;
      }
      case 'refunds at the dashboard':
        this.#later(this.#refundAtDashboard());
        return;
      case 'repeats the create':
        this.#later(this.#create());
        return;
      case 'sends a false webhook':
        this.#later(this.#falseWebhook());
        return;
      case 'looks it up':
        this.#later(this.lookUp());
        return;
      case 'cancels in the Temporal UI':
        this.#later(this.#workflow.cancel().catch(() => undefined));
    }
  }

  #later(work: Promise<unknown>): void {
    this.#underWay.push(work);
  }

  get #workflow() {
    return this.world.operator.client.workflow.getHandle(`checkout/default/${this.plan.reference}`);
  }

  async #until(isSo: () => boolean): Promise<boolean> {
    for (let waited = 0; waited < LOOK_FOR_MS; waited += LOOK_EVERY_MS) {
      if (isSo()) return true;
      await this.world.time.sleep(LOOK_EVERY_MS);
    }
    return isSo();
  }

  // The till

  async #create(): Promise<void> {
    const { reference, expiresIn } = this.plan;
    await this.#repeat(() =>
      this.#ask('POST', '/v1/checkouts', { reference, amount: AMOUNT, currency: 'THB', expires_in: expiresIn }),
    );
  }

  async #cancel(): Promise<void> {
    const answer = await this.#repeat(() => this.#ask('POST', `/v1/checkouts/${this.id}/cancel`));
    if (answer?.status !== 200) return;
    const { status } = answer.json as { readonly status: string };
    if (status === 'cancelled' || PAID.has(status)) this.#answers.push({ what: 'status', status });
  }

  async #newAttempt(): Promise<void> {
    const after = Math.max(this.memo?.state?.attempts.length ?? 1, 1);
    const answer = await this.#repeat(() => this.#ask('POST', `/v1/checkouts/${this.id}/attempts`, { after }));
    if (answer?.status === 200 || answer?.status === 201) this.#answers.push({ what: 'attempt', number: after + 1 });
  }

  async #refund(amount: number | null, given?: string): Promise<void> {
    if (given === undefined) this.#refunds += 1;
    const key = given ?? `key-${this.#refunds}`;
    const body = amount === null ? {} : { amount };
    const answer = await this.#repeat(() =>
      this.#ask('POST', `/v1/checkouts/${this.id}/refunds`, body, { 'idempotency-key': key }),
    );
    if (answer === null || answer.status >= 300 || answer.status === 202) return;
    this.#answers.push({ what: 'refund', refund: answer.json as Refund });
  }

  async #ask(
    method: 'GET' | 'POST',
    path: string,
    body?: object,
    headers?: Readonly<Record<string, string>>,
  ): Promise<TillAnswer | null> {
    const answer = await this.world.ask(method, path, body, headers);
    const { status, code } = (answer?.json ?? {}) as { readonly status?: string; readonly code?: string };
    this.world.note(`${method} ${path} ${answer === null ? 'no answer' : `${answer.status} ${code ?? status}`}`);
    return answer;
  }

  /** As docs/integrate.md says: the same request again, until the answer is certain. */
  async #repeat(ask: () => Promise<TillAnswer | null>): Promise<TillAnswer | null> {
    let answer = await ask();
    for (let repeats = 0; repeats < REPEATS && !isCertain(answer); repeats += 1) {
      await this.world.time.sleep(REPEAT_AFTER_MS);
      answer = await ask();
    }
    return answer;
  }

  // The customer and the provider's dashboard

  #pay(back: number): boolean {
    const charge = this.charges.at(-1 - back);
    if (charge === undefined || charge.paid) return charge?.paid === true;
    this.world.atProvider((sandbox) => sandbox.mark(charge.id, { status: 'successful', force: true }));
    return true;
  }

  #mark(status: 'failed' | 'confirming'): void {
    const charge = this.charges.at(-1);
    if (charge?.status === 'pending') this.world.atProvider((sandbox) => sandbox.mark(charge.id, { status }));
  }

  /** The customer who still reviews the payment goes back, so that the charge can be expired. */
  stopReviewing(): void {
    for (const { id, status } of this.charges) {
      if (status === 'pending') this.world.atProvider((sandbox) => sandbox.mark(id, { status: 'pending' }));
    }
  }

  async #payTwo(): Promise<void> {
    const before = this.charges.length;
    await this.#newAttempt();
    await this.#until(() => this.charges.length > before);
    this.#pay(1);
    this.#pay(0);
  }

  async #refundAtDashboard(): Promise<void> {
    const charge = this.charges.findLast(({ paid, refunded_amount }) => paid && refunded_amount + 20_003 <= AMOUNT);
    if (charge === undefined) return;
    await this.world.askProvider('POST', `/charges/${charge.id}/refunds`, 'amount=20003');
  }

  async #falseWebhook(): Promise<void> {
    const isSigned = this.#random.chance(0.5);
    const charge = {
      object: 'charge',
      id: this.charges.at(-1)?.id ?? 'chrg_test_unknown',
      status: 'successful',
      paid: true,
    };
    const data = { ...charge, amount: AMOUNT, metadata: { checkout: this.id } };
    const event = { object: 'event', id: 'evnt_false', key: 'charge.complete', data };
    const secret = isSigned ? (this.world.sandbox.keys.webhookSecrets[0] ?? '') : btoa('a guess');
    const timestamp = Math.floor(this.world.time.now / 1_000);
    const headers = webhooks.sign(JSON.stringify(event), { secret, timestamp });
    const answer = await this.world.ask('POST', '/webhooks/provider', event, { ...headers });
    if (!isSigned && answer !== null && answer.status < 400) this.#breach(4, 'the API accepted a forged webhook');
  }

  // The operator

  async lookUp(): Promise<void> {
    const action = { action: 'look', reason: 'simulation' } as const;
    const { connection } = this.world.operator;
    await connection
      .withDeadline(this.world.time.now + 30_000, () => this.#workflow.executeUpdate(resolve, { args: [action] }))
      .catch(() => undefined);
  }

  // Checks

  /** What holds at every moment. */
  #look(): void {
    const { memo } = this;
    if (memo === null) return;
    const charges = this.world.providerCharges(this.id);
    this.breaches.push(...checkAlways({ now: this.world.time.now, charges, memo }).breaches);
  }

  /** What holds once the faults are over and nothing is due any more. */
  compare(records: ProviderRecords): readonly Breach[] {
    const { memo } = this;
    if (memo === null) {
      return this.world.chargesOf(this.id).length === 0
        ? []
        : [
            {
              guarantee: 6,
              checkout: this.id,
              what: 'the provider has charges of a checkout that the engine does not have',
            },
          ];
    }
    return compareRecords(records, { memo, answers: this.#answers, inFlightMs: 14_000 }).breaches;
  }

  #breach(guarantee: Breach['guarantee'], what: string): void {
    this.breaches.push({ guarantee, checkout: this.id, what });
  }
}

function isCertain(answer: TillAnswer | null): boolean {
  return answer !== null && answer.status < 500 && answer.status !== 202 && answer.status !== 429;
}

/** Runs as nobody's machine: people are not processes of the installation. */
function asPerson<T>(work: () => T): T {
  return running.exit(work);
}
