import {
  applyChargeStatus,
  chargeStatus,
  instant,
  isAwaitingPayment,
  isFinalCharge,
  parseInstant,
  plus,
  type ChargeStatus,
  type Instant,
} from '@tillflow/domain';
import type { ChargeFacts } from '../../activities.js';
import type { ModelContext, Due } from '../context.js';
import { emptyCharge } from '../snapshot.js';
import { lookupDelay } from '../../../shared/policy.js';
import type { Attempt, Charge } from '../state.js';
import { isDisbelieved, saysItDoesNotExist, type NotShown } from '../../../shared/lookup.js';

/** A payment this far from the attempt, or from now, has a wrong date: our own clock is taken. */
const PLAUSIBLE_MS = 86_400_000;
/** Looks at one charge are at least this far apart, however many hints come. */
const RETRIEVE_APART_MS = 1_000;
/** A hint that finds no change looks again: 1 s and 5 s after the first look. */
const RECHECK_DELAYS_MS = [1_000, 4_000];
/** A charge that the provider will not let go is asked for this often at least: the step of 5 min, later of 1 h. */
const SLOWEST_EXPIRE = 3;
/** As many times a customer may still be confirming; what stays pending longer is a matter for a person. */
const PATIENT_EXPIRE_CALLS = 15;
/** The pause between looks at a charge that may still be paid grows no longer than this step, 5 min; else 1 h. */
const SLOWEST_MISS = { pending: 3, final: 4 } as const;
/** So many looks at a charge whose books are to be closed are in vain, then they close without. */
const LAST_TRIES = 6;
/** Charges that hints name and that we do not know: no more than this are looked at. */
const MAX_UNRECOGNIZED = 5;
/** A charge that a hint named and that the provider does not show is forgotten after this many looks. */
const UNRECOGNIZED_TRIES = 4;

/** Every charge of a checkout, whoever made it, and the rules by which a retrieved one changes what is known. */
export class Charges {
  constructor(private readonly context: ModelContext) {}

  get all(): readonly Charge[] {
    return this.context.state.charges;
  }

  find(id: string): Charge | undefined {
    return this.all.find((charge) => charge.id === id);
  }

  get acceptedCharge(): Charge | null {
    const { acceptedCharge } = this.context.state;
    return acceptedCharge === null ? null : (this.find(acceptedCharge) ?? null);
  }

  get areFinal(): boolean {
    return this.all.every(({ status }) => isFinalCharge(status));
  }

  /** The current attempt is to take no payment any more. */
  isWithdrawn(attempt: Attempt, now: Instant): boolean {
    const { cancelRequested, replacedAttempt, acceptedCharge } = this.context.state;
    return (
      acceptedCharge !== null ||
      attempt.status !== 'pending' ||
      cancelRequested ||
      (replacedAttempt !== null && replacedAttempt >= attempt.number) ||
      attempt.number < this.current.number ||
      now >= attempt.expiresAt
    );
  }

  due(now: Instant): Due[] {
    const { state } = this.context;
    const unrecognized = state.unrecognized.map(({ id, retrieveAt }): Due => ({
      at: instant(retrieveAt),
      step: { do: 'look', chargeId: id },
      why: 'a hint named a charge',
    }));
    const lateEffectCheck: Due[] =
      state.lateEffectCheck === null
        ? []
        : [
            {
              at: instant(state.lateEffectCheck.at),
              why: 'look once more for a late charge',
              step: {
                do: 'findCharges',
                sourceId: null,
                since: instant(state.lateEffectCheck.since),
                until: instant(Math.max(now, state.lateEffectCheck.at)),
                why: 'late effect',
              },
            },
          ];
    return [...this.all.flatMap((charge) => this.#dueOf(charge, now)), ...unrecognized, ...lateEffectCheck];
  }

  /** A hint is worth a look; nothing else of it is believed. */
  hint(now: Instant, chargeId: string | null): void {
    const charge = chargeId === null ? undefined : this.find(chargeId);
    if (chargeId !== null && charge === undefined) {
      this.addUnrecognized(now, chargeId);
      return;
    }
    for (const one of charge === undefined ? this.all : [charge]) {
      const earliest = Math.max(now, one.retrievedAt + RETRIEVE_APART_MS);
      one.retrieveAt = Math.min(one.retrieveAt ?? earliest, earliest);
      one.hinted = true;
      one.hintedAt = now;
    }
  }

  addUnrecognized(now: Instant, id: string): void {
    const { unrecognized } = this.context.state;
    if (unrecognized.length < MAX_UNRECOGNIZED && !unrecognized.some((stray) => stray.id === id)) {
      unrecognized.push({ id, retrieveAt: now, tries: 0 });
    }
  }

  /** A person names a charge: what hints named gives way. */
  adopt(now: Instant, id: string): void {
    const { state } = this.context;
    state.unrecognized = [
      { id, retrieveAt: now, tries: 0 },
      ...state.unrecognized.filter((stray) => stray.id !== id),
    ].slice(0, MAX_UNRECOGNIZED);
  }

  /** A person asks: every charge is looked at now. */
  retrieveAll(now: Instant): void {
    for (const charge of this.all) {
      charge.retrieveAt = now;
      if (charge.nextExpireAt !== null) charge.nextExpireAt = now;
    }
    const { lateEffectCheck } = this.context.state;
    if (lateEffectCheck !== null) lateEffectCheck.at = now;
  }

  /** A person waits no longer for the provider to let charges go. One that is paid after all is still taken in. */
  abandon(now: Instant): void {
    for (const charge of this.all) {
      const attempt = this.#attemptOf(charge);
      if (isFinalCharge(charge.status) || !this.isWithdrawn(attempt, now)) continue;
      charge.status = 'expired';
      charge.nextExpireAt = null;
      charge.expiringSince = null;
      if (attempt.chargeId === charge.id) attempt.status = 'expired';
      this.context.timeline.note(now, 'charge_abandoned', charge.id);
    }
  }

  /** Whatever the provider answered to an expire call: only the look that follows decides. */
  wasAskedToExpire(now: Instant, chargeId: string): void {
    const charge = this.find(chargeId);
    if (charge === undefined) return;
    charge.expireCalls += 1;
    charge.expiringSince ??= now;
    charge.retrieveAt = now;
  }

  /** The provider showed a charge that we know, or one that may be ours. @returns the charge, when what was shown is believed. */
  applyRetrieved(now: Instant, retrievedAt: Instant, asked: string, facts: ChargeFacts): Charge | null {
    const known = this.find(asked);
    this.#forgetUnrecognized(asked);
    if (known === undefined) return this.#retrievedUnrecognized(now, asked, facts);
    const { status, refunded } = known;
    const isBelieved = this.apply(now, facts, asked) !== null;
    if (isBelieved) known.refunded = Math.max(known.refunded, facts.refundedAmount);
    known.unansweredRetrieves = 0;
    known.retrievedAt = retrievedAt;
    const isChanged = known.status !== status || known.refunded !== refunded;
    const isJustPaid = known.status === 'successful' && status !== 'successful';
    // A hint that came while the look was under way may be about what came after it. A payment is what hints are about.
    const isOlder = retrievedAt < (known.hintedAt ?? 0) && !isJustPaid;
    if (known.hinted && (!isChanged || isOlder)) known.pendingRechecks = [...RECHECK_DELAYS_MS];
    this.#planNextLook(known, now);
    return isBelieved ? known : null;
  }

  /** The provider did not answer, has no such charge, or showed another one. */
  notRetrieved(now: Instant, retrievedAt: Instant, asked: string, look: NotShown): void {
    const { code } = look;
    const known = this.find(asked);
    if (known !== undefined) {
      this.#forgetUnrecognized(asked);
      known.retrievedAt = retrievedAt;
      this.#planNextLook(known, now);
      const { policy, state, timeline } = this.context;
      if (isDisbelieved(look))
        timeline.raise(now, 'integrity_mismatch', `asked for charge ${asked}: ${look.unseen}`, asked);
      const slowest = isFinalCharge(known.status) ? SLOWEST_MISS.final : SLOWEST_MISS.pending;
      const again = plus(now, lookupDelay(policy, Math.min(known.unansweredRetrieves, slowest)));
      known.retrieveAt = Math.min(known.retrieveAt ?? again, again);
      if (known.lateEffectCheckAt !== null) known.lateEffectCheckAt = Math.max(known.lateEffectCheckAt, again);
      known.unansweredRetrieves += 1;
      if (!state.closed || known.unansweredRetrieves < LAST_TRIES) return;
      known.retrieveAt = null;
      known.lateEffectCheckAt = null;
      timeline.note(now, 'charge_not_shown', `${asked}: ${code}`);
      return;
    }
    const { state } = this.context;
    const stray = state.unrecognized.find(({ id }) => id === asked);
    if (stray === undefined) return;
    stray.tries += 1;
    stray.retrieveAt = plus(now, lookupDelay(this.context.policy, Math.min(stray.tries, SLOWEST_MISS.final)));
    // Only the provider's word that there is none, or that it is another one, ends it: an outage does not.
    if (!(saysItDoesNotExist(look) || isDisbelieved(look)) || stray.tries < UNRECOGNIZED_TRIES) return;
    this.#forgetUnrecognized(asked);
    this.context.timeline.note(now, 'charge_not_shown', `${asked}: ${code}`);
  }

  /**
   * Applies what a retrieved charge says, by rank: late, repeated and reordered news change nothing. A charge that is
   * not what was asked for is not believed, whatever its status.
   * @param asked its id; null where it was searched for, or is the answer to its creation.
   * @returns the charge, when it is ours.
   */
  apply(now: Instant, facts: ChargeFacts, asked: string | null): Charge | null {
    const { timeline } = this.context;
    const mismatch = this.#mismatch(facts, asked);
    if (mismatch !== null) {
      timeline.raise(now, 'integrity_mismatch', mismatch, asked ?? this.find(facts.chargeId)?.id ?? '');
      return null;
    }
    timeline.settle('integrity_mismatch', facts.chargeId);
    if (this.find(facts.chargeId) === undefined) timeline.settle('integrity_mismatch');
    const charge = this.find(facts.chargeId) ?? this.#adopt(now, facts);
    const attempt = this.#attemptOf(charge);
    if (attempt.chargeId === charge.id) attempt.qr ??= facts.qr;
    const seen = this.#read(now, facts);
    if (seen === null) return charge;
    const status = applyChargeStatus(charge.status, seen);
    if (status === charge.status) return charge;
    charge.status = status;
    charge.nextExpireAt = null;
    charge.expiringSince = null;
    if (status === 'successful') this.#paid(now, charge, facts);
    else this.#ended(now, charge, facts);
    return charge;
  }

  #dueOf(charge: Charge, now: Instant): Due[] {
    const { policy } = this.context;
    const look = [charge.retrieveAt, charge.lateEffectCheckAt].flatMap((at): Due[] =>
      at === null ? [] : [{ at: instant(at), step: { do: 'look', chargeId: charge.id }, why: 'look again' }],
    );
    if (isFinalCharge(charge.status)) return look;
    const attempt = this.#attemptOf(charge);
    if (attempt.chargeId !== charge.id || this.isWithdrawn(attempt, now)) {
      // The look that follows an expire call comes before the next one.
      if (charge.retrieveAt !== null && charge.expireCalls > 0) return look;
      const at = instant(charge.nextExpireAt ?? now);
      return [...look, { at, step: { do: 'expireCharge', chargeId: charge.id }, why: 'the provider keeps it pending' }];
    }
    return [
      ...look,
      {
        at: plus(instant(charge.retrievedAt), policy.pollIntervalMs),
        step: { do: 'look', chargeId: charge.id },
        why: 'wait for a webhook, then look anyway',
      },
      { at: instant(attempt.expiresAt), why: 'wait for a webhook until the QR expires' },
    ];
  }

  #planNextLook(charge: Charge, now: Instant): void {
    charge.hinted = false;
    charge.hintedAt = null;
    const [next, ...rest] = charge.pendingRechecks;
    charge.pendingRechecks = rest;
    charge.retrieveAt = next === undefined ? null : plus(now, next);
    if (charge.lateEffectCheckAt !== null && charge.retrievedAt >= charge.lateEffectCheckAt)
      charge.lateEffectCheckAt = null;
    if (charge.expireCalls > 0 && !isFinalCharge(charge.status)) {
      const step = charge.expireCalls > PATIENT_EXPIRE_CALLS ? SLOWEST_EXPIRE + 1 : SLOWEST_EXPIRE;
      charge.nextExpireAt = plus(now, lookupDelay(this.context.policy, Math.min(charge.expireCalls - 1, step)));
    }
  }

  #retrievedUnrecognized(now: Instant, asked: string, facts: ChargeFacts): Charge | null {
    const { intent, timeline } = this.context;
    if (facts.checkoutId !== intent.id && !this.#isOnOurSource(facts)) {
      timeline.note(now, 'charge_not_ours', asked);
      return null;
    }
    return this.apply(now, facts, asked);
  }

  #forgetUnrecognized(id: string): void {
    const { state } = this.context;
    state.unrecognized = state.unrecognized.filter((stray) => stray.id !== id);
  }

  /** The newest attempt. */
  get current(): Attempt {
    const last = this.context.state.attempts.at(-1);
    if (last === undefined) throw new Error('A checkout has an attempt');
    return last;
  }

  #attemptOf({ attempt }: Pick<Charge, 'attempt'>): Attempt {
    return this.context.state.attempts.find(({ number }) => number === attempt) ?? this.current;
  }

  #attemptNumberOf(facts: ChargeFacts): number {
    if (facts.attempt !== null) return Number(facts.attempt);
    const { attempts } = this.context.state;
    return (attempts.find(({ sourceId }) => sourceId !== null && sourceId === facts.sourceId) ?? this.current).number;
  }

  /** A charge without our metadata that uses a source of ours is ours. */
  #isOnOurSource({ checkoutId, sourceId }: ChargeFacts): boolean {
    return (
      checkoutId === null && sourceId !== null && this.context.state.attempts.some((one) => one.sourceId === sourceId)
    );
  }

  #mismatch(facts: ChargeFacts, asked: string | null): string | null {
    const { intent, state } = this.context;
    const { chargeId, attempt: number, sourceId } = facts;
    if (asked !== null && asked !== chargeId) return `asked for charge ${asked}, was shown ${chargeId}`;
    if (facts.checkoutId !== intent.id && !this.#isOnOurSource(facts)) {
      return `charge ${chargeId} belongs to ${facts.checkoutId ?? 'no checkout'}`;
    }
    if (facts.isOtherMode) return `charge ${chargeId} is not of our key's mode`;
    if (facts.amount !== intent.amount) return `charge ${chargeId} is over ${facts.amount}, not ${intent.amount}`;
    if (facts.currency !== intent.currency) return `charge ${chargeId} is in ${facts.currency}, not ${intent.currency}`;
    if (number !== null && !state.attempts.some((one) => String(one.number) === number)) {
      return `charge ${chargeId} belongs to attempt ${number}`;
    }
    const known = this.find(chargeId);
    if (known !== undefined && number !== null && number !== String(known.attempt)) {
      return `charge ${chargeId} belongs to attempt ${number}, not ${known.attempt}`;
    }
    const attempt = this.#attemptOf(known ?? { attempt: this.#attemptNumberOf(facts) });
    const counts = attempt.chargeId === null || attempt.chargeId === chargeId;
    if (counts && attempt.sourceId !== null && sourceId !== null && sourceId !== attempt.sourceId) {
      return `charge ${chargeId} uses source ${sourceId}, not ${attempt.sourceId}`;
    }
    return null;
  }

  #adopt(now: Instant, facts: ChargeFacts): Charge {
    const { state, timeline } = this.context;
    const attempt = this.#attemptOf({ attempt: this.#attemptNumberOf(facts) });
    const charge: Charge = {
      ...emptyCharge(),
      id: facts.chargeId,
      attempt: attempt.number,
      refunded: facts.refundedAmount,
      // Nobody looked yet: the first hint need not wait.
      retrievedAt: now - RETRIEVE_APART_MS,
    };
    state.charges.push(charge);
    this.#forgetUnrecognized(charge.id);
    if (attempt.chargeId === null) attempt.chargeId = charge.id;
    if (attempt.number === this.current.number) state.opening = null;
    timeline.note(now, 'charge_created', attempt.number === 1 ? charge.id : `${charge.id}, attempt ${attempt.number}`);
    return charge;
  }

  /** The charge's status, or null when this version does not know it: a person is told, nothing is guessed. */
  #read(now: Instant, facts: ChargeFacts): ChargeStatus | null {
    const { timeline } = this.context;
    const seen = chargeStatus(facts.status);
    if (seen === null) {
      timeline.raise(now, 'unknown_status', `charge ${facts.chargeId} is ${facts.status}`, facts.chargeId);
      return null;
    }
    timeline.settle('unknown_status', facts.chargeId);
    return seen === 'failed' && facts.failureCode === 'payment_expired' ? 'expired' : seen;
  }

  #ended(now: Instant, charge: Charge, { failureCode, failureMessage }: ChargeFacts): void {
    const { state, timeline } = this.context;
    const attempt = this.#attemptOf(charge);
    if (attempt.chargeId === charge.id) {
      attempt.status = charge.status;
      attempt.failureCode = failureCode;
      attempt.failureMessage = failureMessage;
    }
    const isLast = attempt.number === this.current.number && state.replacedAttempt === null;
    const what = isLast && state.cancelRequested && state.acceptedCharge === null ? 'cancelled' : charge.status;
    const detail = [...(isLast ? [] : [`attempt ${attempt.number}`]), ...(failureCode === null ? [] : [failureCode])];
    timeline.note(now, what, detail.length === 0 ? undefined : detail.join(': '));
  }

  #paid(now: Instant, charge: Charge, facts: ChargeFacts): void {
    const { state, timeline } = this.context;
    const attempt = this.#attemptOf(charge);
    charge.paidAt = this.#paidAt(now, attempt, facts);
    attempt.status = 'successful';
    if (state.acceptedCharge === null || attempt.chargeId === null) {
      attempt.chargeId = charge.id;
      // Later looks at the payment are compared with it.
      attempt.sourceId = facts.sourceId ?? attempt.sourceId;
    }
    attempt.failureCode = null;
    attempt.failureMessage = null;
    if (state.acceptedCharge !== null) {
      timeline.note(now, 'paid_twice', charge.id);
      timeline.raise(now, 'double_payment', `${charge.id} was paid although ${state.acceptedCharge} was`, charge.id);
      return;
    }
    state.acceptedCharge = charge.id;
    timeline.note(now, 'paid', charge.id);
    // Who asked for another attempt still waits for the money.
    if (isAwaitingPayment(state.reported) || state.replacedAttempt !== null) return;
    state.lateAfter = state.reported;
    timeline.raise(now, 'late_payment', `paid after it was reported as ${state.reported}`, charge.id);
  }

  #paidAt(now: Instant, { createdAt }: Attempt, { paidAt }: ChargeFacts): Instant {
    const told = paidAt === null ? now : parseInstant(paidAt);
    return told >= createdAt - PLAUSIBLE_MS && told <= now + PLAUSIBLE_MS ? told : now;
  }
}
