import {
  applyChargeStatus,
  chargeStatus,
  isAwaitingPayment,
  isFinalCharge,
  parseInstant,
  plus,
  refundableUntil,
  instant,
  type ChargeStatus,
  type CheckoutStatus,
  type Instant,
} from '@tillflow/domain';
import type { ChargeFacts } from '../../activities.js';
import { completed, type PaymentDetails } from '../../payment.js';
import { isDisbelieved, type NotShown } from '../../../shared/lookup.js';
import type { ModelContext } from '../context.js';
import { instructionsOf } from '../payment-instructions.js';
import type { Due } from '../schedule.js';
import type { Creation, SearchResult } from './creation.js';
import { belongsToCheckout, mismatchOf } from './integrity.js';
import {
  dueOf,
  emptyCharge,
  planAfterExpire,
  planAfterMiss,
  planAfterRetrieve,
  planForHint,
  planNow,
  RETRIEVE_APART_MS,
  stopExpiring,
  type Charge,
  type Report,
} from './polling.js';
import type { UnrecognizedCharges } from './unrecognized.js';

/** A payment further than this from its attempt or from now has a wrong date; the workflow's clock is used instead. */
const PLAUSIBLE_MS = 86_400_000;
/** When the last retrieve of a checkout has no answer after this many tries, the checkout closes without it. */
const LAST_RETRIEVE_TRIES = 6;

export type ChargesState = {
  all: Charge[];
  /** The payment that counts: the first charge that was seen successful. */
  accepted: string | null;
  /** What the provider says of that payment. Absent until it says something. */
  payment?: PaymentDetails;
  /** The status that was published before the payment came; null when it came in time. */
  lateAfter: CheckoutStatus | null;
  /** The refund window is over: charges are retrieved one last time. */
  isClosing: boolean;
  /** What a hint says of the charge whose creation is not answered yet. Absent: none came. */
  early?: Report;
};

/** Every charge of the checkout. Retrieved charges change their status by rank, so a late answer changes nothing. */
export class Charges {
  constructor(
    private readonly context: ModelContext,
    private readonly state: ChargesState,
    private readonly creation: Creation,
    private readonly unrecognized: UnrecognizedCharges,
    private readonly published: { readonly status: CheckoutStatus },
  ) {}

  get all(): readonly Readonly<Charge>[] {
    return this.state.all;
  }

  find(id: string): Readonly<Charge> | undefined {
    return this.#get(id);
  }

  get accepted(): Readonly<Charge> | null {
    return this.#get(this.state.accepted) ?? null;
  }

  get lateAfter(): CheckoutStatus | null {
    return this.state.lateAfter;
  }

  get areFinal(): boolean {
    return this.all.every(({ status }) => isFinalCharge(status));
  }

  /** @param chargeId null: every charge of the checkout. */
  isKnownPaid(chargeId: string | null): boolean {
    const named = this.all.filter(({ id }) => chargeId === null || id === chargeId);
    return named.length > 0 && named.every(({ status }) => status === 'successful');
  }

  due(now: Instant): Due[] {
    const { policy, attempts } = this.context;
    const charges = this.state.all.flatMap((charge) => {
      const attempt = attempts.find(charge.attempt);
      const mustEnd = attempt.chargeId !== charge.id || attempts.isWithdrawn(attempt, now);
      return dueOf(charge, mustEnd ? null : attempt.expiresAt, policy, now);
    });
    return [...charges, ...this.unrecognized.due()];
  }

  /**
   * A hint only asks for a retrieve of charges.
   * @param chargeId null: every charge of the checkout @param isKept until the charge is known
   */
  hint(now: Instant, chargeId: string | null, report: Report, isKept: boolean): void {
    const charge = this.#get(chargeId);
    if (isKept && charge === undefined && this.creation.inProgress !== null) this.#keepEarly(report);
    if (chargeId !== null && charge === undefined) this.unrecognized.add(now, chargeId);
    else for (const one of charge === undefined ? this.state.all : [charge]) planForHint(one, now, report);
  }

  /**
   * The customer may pay before the workflow has the answer to the charge: the API shows the QR code of an answer that is
   * in the history, and a workflow task reads messages before answers.
   */
  #keepEarly({ isPayment, transactionId = this.state.early?.transactionId }: Report): void {
    this.state.early = { isPayment: isPayment && this.state.early?.isPayment !== false, transactionId };
  }

  /** Applies the answer to the creation of a charge. A hint that came before it asks for a retrieve at once. */
  applyCreated(now: Instant, facts: ChargeFacts): Readonly<Charge> | null {
    const { early } = this.state;
    const charge = this.apply(now, facts, null);
    const added = this.#get(charge?.id ?? null);
    if (early !== undefined && added !== undefined) planForHint(added, now, early);
    return charge;
  }

  retrieveAll(now: Instant): void {
    for (const charge of this.state.all) planNow(charge, now);
  }

  /** After the refund window, the accepted charge is retrieved one last time. */
  retrieveOneLastTime(now: Instant): void {
    const { accepted, isClosing } = this.state;
    const charge = this.#get(accepted);
    if (isClosing || charge === undefined || charge.paidAt === null) return;
    if (now <= refundableUntil(instant(charge.paidAt))) return;
    this.state.isClosing = true;
    charge.retrieveAt = now;
  }

  /**
   * An operator decides not to wait any longer until the provider expires charges. The model still applies a later
   * payment.
   */
  abandon(now: Instant): void {
    const { attempts, timeline } = this.context;
    for (const charge of this.state.all) {
      const attempt = attempts.find(charge.attempt);
      if (isFinalCharge(charge.status) || !attempts.isWithdrawn(attempt, now)) continue;
      charge.status = 'expired';
      stopExpiring(charge);
      if (attempt.chargeId === charge.id) attempts.end(attempt.number, 'expired', { code: null, message: null });
      timeline.note(now, 'charge_abandoned', charge.id);
    }
  }

  applyExpire(now: Instant, chargeId: string): void {
    const charge = this.#get(chargeId);
    if (charge !== undefined) planAfterExpire(charge, now);
  }

  /** @returns the charge when it belongs to the checkout and matches the request; null otherwise. */
  applyRetrieved(now: Instant, retrievedAt: Instant, asked: string, facts: ChargeFacts): Readonly<Charge> | null {
    const { policy } = this.context;
    const charge = this.#get(asked);
    const isNamedAgain = this.unrecognized.remove(asked)?.isNamedAgain === true;
    if (charge === undefined) return this.#applyUnrecognized(now, asked, facts, isNamedAgain);
    const before = { status: charge.status, refunded: charge.refunded };
    const isBelieved = this.apply(now, facts, asked) !== null;
    if (isBelieved) charge.refunded = Math.max(charge.refunded, facts.refundedAmount);
    planAfterRetrieve(policy, charge, now, retrievedAt, before);
    return isBelieved ? charge : null;
  }

  /**
   * Applies a charge that a search shows and the checkout did not have.
   * @returns the charge; null when it is not what the checkout requested.
   */
  applyFound(now: Instant, facts: ChargeFacts): Readonly<Charge> | null {
    const isNamed = this.unrecognized.remove(facts.chargeId) !== undefined;
    return this.#retrieveIf(isNamed, now, this.apply(now, facts, null));
  }

  /** The provider did not answer, has no such charge, or showed another one. */
  applyMiss(now: Instant, retrievedAt: Instant, asked: string, why: NotShown): void {
    const { policy, attentions, timeline } = this.context;
    const charge = this.#get(asked);
    if (charge === undefined) {
      this.unrecognized.miss(now, asked, why);
      return;
    }
    this.unrecognized.remove(asked);
    planAfterMiss(policy, charge, now, retrievedAt);
    if (isDisbelieved(why)) {
      attentions.raise(now, 'integrity_mismatch', `retrieved charge ${asked}: ${why.unseen}`, asked);
    }
    if (!this.state.isClosing || charge.unansweredRetrieves < LAST_RETRIEVE_TRIES) return;
    charge.retrieveAt = null;
    charge.lateEffectCheckAt = null;
    timeline.note(now, 'charge_not_shown', `${asked}: ${why.code}`);
  }

  /**
   * Applies what the provider shows of a charge.
   * @param asked its id; null for a search, or the answer to its creation.
   * @returns the charge; null when it is not what the checkout requested.
   */
  apply(now: Instant, facts: ChargeFacts, asked: string | null): Readonly<Charge> | null {
    const { intent, attempts, attentions } = this.context;
    const known = this.#get(facts.chargeId);
    const mismatch = mismatchOf(facts, asked, known, intent, attempts);
    if (mismatch !== null) {
      attentions.raise(now, 'integrity_mismatch', mismatch, asked ?? known?.id ?? '');
      return null;
    }
    attentions.settle('integrity_mismatch', facts.chargeId);
    if (known === undefined) attentions.settle('integrity_mismatch');
    const charge = known ?? this.#add(now, facts);
    const attempt = attempts.find(charge.attempt);
    if (attempt.chargeId === charge.id) attempts.setInstructions(attempt.number, instructionsOf(facts));
    const seen = this.#statusOf(now, facts);
    const status = seen === null ? charge.status : applyChargeStatus(charge.status, seen);
    if (status !== charge.status) {
      charge.status = status;
      stopExpiring(charge);
      if (status === 'successful') this.#pay(now, charge, facts);
      else if (status !== 'pending') this.#end(now, charge, status, facts);
    }
    if (charge.id === this.state.accepted) this.#addDetails(facts);
    return charge;
  }

  /** Whether a search showed the charge of the current attempt. @param found charges that were applied already. */
  resultOf(found: readonly ChargeFacts[]): SearchResult {
    const charges = found.map(({ chargeId }) => this.#get(chargeId));
    if (charges.includes(undefined)) return 'disbelieved';
    const { number } = this.context.attempts.current;
    return charges.some((charge) => charge?.attempt === number) ? 'found' : 'nothing';
  }

  /** @param amount of the succeeded refunds, in the smallest currency unit. */
  sawRefunded(id: string, amount: number): void {
    const charge = this.#get(id);
    if (charge !== undefined) charge.refunded = Math.max(charge.refunded, amount);
  }

  /** A refund call that was given up can still take effect: the charge is retrieved a while later. */
  checkForLateRefund(now: Instant, id: string): void {
    const charge = this.#get(id);
    if (charge !== undefined) charge.lateEffectCheckAt = plus(now, this.context.policy.lateEffectCheckMs);
  }

  #get(id: string | null): Charge | undefined {
    return this.state.all.find((charge) => charge.id === id);
  }

  #applyUnrecognized(now: Instant, asked: string, facts: ChargeFacts, isNamedAgain: boolean): Readonly<Charge> | null {
    const { intent, attempts, timeline } = this.context;
    if (belongsToCheckout(facts, intent.id, attempts)) {
      return this.#retrieveIf(isNamedAgain, now, this.apply(now, facts, asked));
    }
    timeline.note(now, 'charge_not_ours', asked);
    return null;
  }

  /** A hint named the charge before the checkout had it, and may report a later change. A final charge has no polls. */
  #retrieveIf(isNamed: boolean, now: Instant, applied: Readonly<Charge> | null): Readonly<Charge> | null {
    const charge = this.#get(applied?.id ?? null);
    if (isNamed && charge !== undefined && isFinalCharge(charge.status)) planForHint(charge, now);
    return applied;
  }

  #add(now: Instant, facts: ChargeFacts): Charge {
    const { attempts, timeline } = this.context;
    const { number } = attempts.attemptOf(facts);
    const charge: Charge = {
      ...emptyCharge(),
      id: facts.chargeId,
      attempt: number,
      refunded: facts.refundedAmount,
      // The charge was never retrieved, so the first hint causes a retrieve without a pause.
      retrievedAt: now - RETRIEVE_APART_MS,
    };
    this.state.all.push(charge);
    delete this.state.early;
    this.unrecognized.remove(charge.id);
    attempts.addCharge(number, charge.id);
    if (number === attempts.current.number) this.creation.finish();
    timeline.note(now, 'charge_created', number === 1 ? charge.id : `${charge.id}, attempt ${number}`);
    return charge;
  }

  /** Null for a status that this version does not know: operators see it, and nothing is guessed. */
  #statusOf(now: Instant, { chargeId, status, failureCode }: ChargeFacts): ChargeStatus | null {
    const { attentions } = this.context;
    const seen = chargeStatus(status);
    if (seen === null) {
      attentions.raise(now, 'unknown_status', `charge ${chargeId} is ${status}`, chargeId);
      return null;
    }
    attentions.settle('unknown_status', chargeId);
    return seen === 'failed' && failureCode === 'payment_expired' ? 'expired' : seen;
  }

  #end(now: Instant, charge: Charge, status: 'expired' | 'failed', facts: ChargeFacts): void {
    const { attempts, timeline } = this.context;
    const { failureCode: code, failureMessage: message } = facts;
    const attempt = attempts.find(charge.attempt);
    if (attempt.chargeId === charge.id) attempts.end(attempt.number, status, { code, message });
    const isLast = attempt.number === attempts.current.number && attempts.replaced === null;
    const what = isLast && attempts.isCancelRequested && this.state.accepted === null ? 'cancelled' : status;
    const detail = [...(isLast ? [] : [`attempt ${attempt.number}`]), ...(code === null ? [] : [code])];
    timeline.note(now, what, detail.length === 0 ? undefined : detail.join(': '));
  }

  /** The first answer counts: a later one only adds what was missing, because a refund changes fees and amounts. */
  #addDetails({ payment }: ChargeFacts): void {
    if (payment !== undefined) this.state.payment = completed(this.state.payment ?? {}, payment);
  }

  /** The first payment counts. A second one, and one that comes after the end was published, need a decision. */
  #pay(now: Instant, charge: Charge, facts: ChargeFacts): void {
    const { attempts, attentions, timeline } = this.context;
    const { accepted } = this.state;
    const attempt = attempts.find(charge.attempt);
    charge.paidAt = paidAtOf(facts, attempt.createdAt, now);
    attempts.pay(attempt.number, charge.id, facts.sourceId, accepted === null);
    if (accepted !== null) {
      timeline.note(now, 'paid_twice', charge.id);
      attentions.raise(now, 'double_payment', `${charge.id} was paid although ${accepted} was paid before`, charge.id);
      return;
    }
    this.state.accepted = charge.id;
    timeline.note(now, 'paid', charge.id);
    // A caller has requested the next attempt and still expects a payment, so this one is not late.
    const { status } = this.published;
    if (isAwaitingPayment(status) || attempts.replaced !== null) return;
    this.state.lateAfter = status;
    attentions.raise(now, 'late_payment', `paid after the checkout was published as ${status}`, charge.id);
  }
}

function paidAtOf({ paidAt }: ChargeFacts, attemptCreatedAt: number, now: Instant): Instant {
  const shown = paidAt === null ? now : parseInstant(paidAt);
  return shown >= attemptCreatedAt - PLAUSIBLE_MS && shown <= now + PLAUSIBLE_MS ? shown : now;
}
