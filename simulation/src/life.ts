import { compareRecords, type ProviderRecords } from '@tillflow/tools/chaos';
import { resolve, type AttentionCode, type CheckoutMemo, type Resolution } from '@tillflow/workflows';
import { checkAlways, checkChange, type Answer, type Breach } from '@tillflow/workflows/testing';
import type { End } from './batch.js';
import { Customer } from './people/customer.js';
import type { Surroundings } from './people/surroundings.js';
import { AMOUNT, Till } from './people/till.js';
import type { FaultKind } from './fault-kinds.js';
import type { Beat, LifePlan, Moment, PersonAction } from './plan.js';
import { Random } from './random.js';

const PAID: ReadonlySet<string> = new Set(['paid', 'partially_refunded', 'refunded']);
const ENDS: ReadonlySet<string> = new Set(['expired', 'failed', 'cancelled']);
const DOUBLED: AttentionCode = 'refund_doubled';
/** A person checks the status at this interval, for at most this long. Milliseconds. */
const LOOK_EVERY_MS = 250;
const LOOK_FOR_MS = 40_000;
/** An installation without faults does what follows an answer within this time. Milliseconds. */
const QUIET_MS = 3_000;
const REVIEW_MS = 60_000;
/** A customer who cannot pay yet tries again so often, and for so long. Milliseconds. */
const CODE_EVERY_MS = 20;
const CODE_WITHIN_MS = 2_000;
/** A call to the provider without an answer may take effect for so long. Milliseconds. */
const IN_FLIGHT_MS = 14_000;

/** Makes a fault happen. `chargeId`: the newest charge of the life; undefined when there is none. */
export type Causes = { cause(kind: FaultKind, chargeId: string | undefined): void };

/** One checkout with its people, from the first request on. */
export class Life {
  readonly #random: Random;
  readonly till: Till;
  readonly customer: Customer;
  readonly #underWay: Promise<unknown>[] = [];
  /** The memo that the checkout published last. */
  #before: CheckoutMemo | null = null;
  /** The state that each version has in the memo. */
  readonly #published = new Map<number, CheckoutMemo['state']>();
  /** What a person saw that must never be. */
  readonly breaches: Breach[] = [];
  /** The beats whose moment came. */
  readonly reached: Beat[] = [];

  constructor(
    private readonly world: Surroundings,
    private readonly faults: Causes,
    readonly plan: LifePlan,
  ) {
    this.#random = new Random(`${world.seed}/people/${plan.index}`);
    this.till = new Till(world, this.id);
    this.customer = new Customer(world, this.id);
  }

  get id(): string {
    return `chk_default_${this.plan.reference}`;
  }

  get workflowId(): string {
    return `checkout/default/${this.plan.reference}`;
  }

  /** What the engine stores of the checkout. */
  get memo(): CheckoutMemo | null {
    return this.world.memoOf(this.workflowId);
  }

  /** As published; `creating` before. */
  get status(): string {
    return this.memo?.state?.status ?? 'creating';
  }

  get #isPaid(): boolean {
    return PAID.has(this.status);
  }

  /** The rest of the payment, in the smallest currency unit. */
  get #left(): number {
    const refunds = (this.memo?.refunds ?? []).filter(({ status }) => status !== 'rejected');
    return AMOUNT - refunds.reduce((sum, { amount }) => sum + amount, 0);
  }

  async run(): Promise<void> {
    const { world, plan } = this;
    await world.time.sleep(plan.beginsAfter);
    world.trace.note(`${plan.reference} begins`);
    const [first] = plan.beats;
    if (first?.moment === 'creating') this.#cause(first);
    const creating = this.create();
    this.#later(creating);
    for (const beat of plan.beats) await this.#play(beat, creating);
    await Promise.all(this.#underWay);
  }

  async #play(beat: Beat, creating: Promise<unknown>): Promise<void> {
    const { moment, action } = beat;
    if (moment === 'creating' && !this.plan.isOneByOne) {
      await this.world.time.sleep(this.#random.integer(0, 30));
      this.reached.push(beat);
    } else {
      await creating;
      if (await this.#reach(moment)) this.reached.push(beat);
      this.#cause(beat);
    }
    this.world.trace.note(`${this.plan.reference} ${this.status}: ${action}`);
    if (this.plan.isOneByOne) await this.#quiet();
    this.#do(action);
    if (this.plan.isOneByOne) await this.#quiet();
    else await this.world.time.sleep(this.#random.pick([0, 20, 400, 3_000]));
  }

  /** Waits until everything that the people began has its answer, and the installation has done what follows. */
  async #quiet(): Promise<void> {
    await Promise.all(this.#underWay);
    await this.world.time.sleep(QUIET_MS);
  }

  #cause({ fault }: Beat): void {
    if (fault !== null) this.faults.cause(fault, this.customer.charges.at(-1)?.id);
  }

  /** Brings the checkout to a moment of its life. @returns whether that is still possible */
  async #reach(moment: Moment): Promise<boolean> {
    switch (moment) {
      case 'creating':
        return true;
      case 'awaiting':
        return this.until(() => this.status !== 'creating');
      case 'paying':
        await this.until(() => this.status !== 'creating');
        return this.customer.pay(0);
      case 'paid':
        if (!this.#isPaid) this.customer.pay(0);
        return this.until(() => this.#isPaid || ENDS.has(this.status));
      case 'refunding':
        if (!this.#isPaid) this.customer.pay(0);
        if (!(await this.until(() => this.#isPaid))) return false;
        this.#later(this.till.refund(10_000));
        await this.world.time.sleep(this.#random.integer(0, 12));
        return true;
      case 'ended':
        if (this.#isPaid || ENDS.has(this.status)) return true;
        if (this.#random.chance(0.5)) this.customer.mark('failed');
        else this.#later(this.till.cancel());
        return this.until(() => this.#isPaid || ENDS.has(this.status));
    }
  }

  #do(action: PersonAction): void {
    const work = this.#actions[action]();
    if (work instanceof Promise) this.#later(work);
  }

  readonly #actions: Readonly<Record<PersonAction, () => unknown>> = {
    waits: () => undefined,
    pays: () => this.#pay(),
    'pays an older code too': () => this.#payTwo(),
    declines: () => this.customer.mark('failed'),
    'reviews for a minute': () => this.#review(),
    cancels: () => this.till.cancel(),
    'asks for a new attempt': () => this.#newAttempt(),
    'refunds a part': () => this.till.refund(this.#random.chance(0.8) ? 20_000 : this.#left + 1),
    'refunds all': () => this.till.refund(null),
    'refunds twice with one key': async () => {
      const key = this.till.nextKey();
      const second = this.#random.chance(0.7) ? 30_000 : 30_001;
      const first = this.till.refund(30_000, key);
      // Of two requests at once, the engine that is faster decides which amount counts.
      if (this.plan.isOneByOne) await first;
      await Promise.all([first, this.till.refund(second, key)]);
    },
    'refunds at the dashboard': () => this.#refundAtDashboard(),
    'repeats the create': () => this.create(),
    'sends a false webhook': () => this.#falseWebhook(),
    'looks it up or gives up': () => (this.#random.chance(0.6) ? this.lookUp() : this.#giveUp()),
    'cancels in the Temporal UI': () => this.#workflow.cancel().catch(() => undefined),
  };

  #later(work: Promise<unknown>): void {
    this.#underWay.push(work);
  }

  /** Milliseconds. @returns whether it became so in time */
  async until(isSo: () => boolean, everyMs = LOOK_EVERY_MS, forMs = LOOK_FOR_MS): Promise<boolean> {
    for (let waited = 0; waited < forMs; waited += everyMs) {
      if (isSo()) return true;
      await this.world.time.sleep(everyMs);
    }
    return isSo();
  }

  /** Its till creates it. */
  create(): Promise<void> {
    return this.till.create(this.plan.reference, this.plan.expiresIn);
  }

  #newAttempt(): Promise<void> {
    return this.till.newAttempt(Math.max(this.memo?.state?.attempts.length ?? 1, 1));
  }

  /** The provider may have a charge that the checkout does not show: its answer is late, or lost. */
  #pay(): Promise<boolean> {
    return this.until(() => this.customer.pay(0), CODE_EVERY_MS, CODE_WITHIN_MS);
  }

  /** Someone refunds a payment as soon as there is one, also before the checkout knows of it. */
  async #refundAtDashboard(): Promise<void> {
    if (!(await this.#pay())) return;
    if (!this.plan.isOneByOne) await this.world.time.sleep(this.#random.pick([0, 5, 20, 60]));
    await this.customer.refundAtDashboard();
  }

  async #payTwo(): Promise<void> {
    const attempts = (): number => this.memo?.state?.attempts.length ?? 0;
    const before = attempts();
    await this.#newAttempt();
    await this.until(() => attempts() > before && this.status !== 'creating');
    this.customer.pay(1);
    // The oracle knows the accepted payment by its millisecond.
    await this.world.time.sleep(this.#random.integer(2, 40));
    this.customer.pay(0);
  }

  #review(): void {
    this.customer.mark('confirming');
    this.world.time.after(REVIEW_MS, () => this.stopReviewing(), undefined);
  }

  stopReviewing(): void {
    this.customer.stopReviewing();
  }

  async #falseWebhook(): Promise<void> {
    const signed = this.#random.pick(['now', 'a day ago', 'with a guess'] as const);
    const chargeId = this.customer.charges.at(-1)?.id ?? 'chrg_test_unknown';
    const isAccepted = await this.till.falseWebhook(chargeId, signed);
    if (signed !== 'now' && isAccepted) this.#breach(4, `the API accepted a webhook that was signed ${signed}`);
  }

  get #workflow() {
    return this.world.operator.client.workflow.getHandle(this.workflowId);
  }

  /** An operator makes the checkout look up its charges. */
  lookUp(): Promise<void> {
    return this.#resolve('look');
  }

  /** An operator stops waiting for an unknown outcome, and the till refunds the rest of the payment. */
  async #giveUp(): Promise<void> {
    await this.#resolve('abandon');
    await this.till.refund(null);
  }

  async #resolve(action: 'look' | 'abandon'): Promise<void> {
    const { connection } = this.world.operator;
    const args: [Resolution] = [{ action, reason: 'simulation' }];
    await connection
      .withDeadline(this.world.time.now + 30_000, () => this.#workflow.executeUpdate(resolve, { args }))
      .catch(() => undefined);
  }

  /** A second person decides about the refunds that wait for one: while a worker cannot tell a limit, all of them do. */
  async decideRefunds(): Promise<void> {
    for (const { key, status } of this.memo?.refunds ?? []) {
      if (status !== 'needs_approval') continue;
      const decision = this.#random.chance(0.5) ? 'approve' : 'reject';
      const path = `/v1/checkouts/${this.id}/refunds/${key}/${decision}`;
      const answer = await this.world.api.ask('POST', path, {}, {}, 'supervisor');
      this.world.trace.note(`POST ${path} ${answer?.status ?? 'no answer'}`);
    }
  }

  /** Checks what holds at every moment. */
  look(): void {
    const { memo } = this;
    if (memo === null) return;
    if (memo.version !== undefined) this.#published.set(memo.version, memo.state);
    const { now } = this.world.time;
    const charges = this.world.provider.recordsOf(this.id);
    const observation = { now, charges, memo: asRead(memo, now), hasLateEffects: this.#hasLateEffects };
    this.breaches.push(...checkAlways(observation).breaches, ...checkChange(this.#before, observation).breaches);
    this.#before = memo;
  }

  /** How the checkout ended, with the amounts of the provider. */
  get end(): End {
    const { charges } = this.customer;
    const paid = charges.filter((charge) => charge.paid);
    const refunded = paid.reduce((sum, { refunded_amount }) => sum + refunded_amount, 0);
    const kept = paid.reduce((sum, { amount }) => sum + amount, 0) - refunded;
    return { reference: this.plan.reference, status: this.memo?.state?.status ?? 'none', kept, refunded };
  }

  /** What holds once the faults are over and nothing is due any more. */
  compare(records: ProviderRecords): readonly Breach[] {
    const { memo } = this;
    if (memo !== null) {
      const { breaches } = compareRecords(records, {
        memo: asRead(memo, Date.parse(records.now)),
        answers: this.#answers,
        inFlightMs: IN_FLIGHT_MS,
        hasLateEffects: this.#hasLateEffects,
        excuses: this.#excuses,
        hasOwnTimeOfPayment: this.customer.charges.some(({ id }) => this.world.provider.hasShownWrongTime(id)),
      });
      return [...breaches, ...this.#twofoldVersions()];
    }
    if (this.customer.charges.length === 0) return [];
    const what = 'the provider has charges of a checkout that the engine does not have';
    return [{ guarantee: 6, checkout: this.id, what }];
  }

  get #hasLateEffects(): boolean {
    return this.world.provider.hasLateEffects(this.id);
  }

  /** A refund that takes effect after it was repeated is made twice, which Tillflow cannot prevent: a person sees it. */
  get #excuses(): ReadonlySet<AttentionCode> {
    const { timeline = [] } = this.memo ?? {};
    const isReported = timeline.some(({ what, detail = '' }) => what === 'attention' && detail.startsWith(DOUBLED));
    return new Set(this.#hasLateEffects && isReported ? [DOUBLED] : []);
  }

  /** What the till may rely on. A refund whose repetition was refused may still take effect, if it is late enough. */
  get #answers(): readonly Answer[] {
    const { answers } = this.till;
    if (!this.#hasLateEffects) return answers;
    return answers.filter((answer) => answer.what !== 'refund' || answer.refund.status !== 'rejected');
  }

  /** A reader drops a version that it has, so all readers must see the same of one. The code may be over meanwhile. */
  *#twofoldVersions(): Generator<Breach> {
    for (const { version, status, hasQr } of this.till.shown) {
      const state = this.#published.get(version);
      if (state === undefined || (state.status === status && (state.qr !== null || !hasQr))) continue;
      const what = `version ${version} was shown as ${status} with${hasQr ? '' : 'out'} a code, and is ${state.status} with${state.qr === null ? 'out' : ''} one`;
      yield { guarantee: 6, checkout: this.id, what };
    }
  }

  #breach(guarantee: Breach['guarantee'], what: string): void {
    this.breaches.push({ guarantee, checkout: this.id, what });
  }
}

/** A memo is not written anew when the time to void is over: those who read it compare the time. */
function asRead(memo: CheckoutMemo, now: number): CheckoutMemo {
  const { state } = memo;
  if (state?.voidable_until == null || now < Date.parse(state.voidable_until)) return memo;
  return { ...memo, state: { ...state, voidable_until: null } };
}
