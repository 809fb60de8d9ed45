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
import type { ChargeFacts } from '../activities.js';
import type { BookContext, Due } from './context.js';
import { emptyCharge } from './packed.js';
import { lookDelay } from './policy.js';
import type { Attempt, Charge } from './record.js';
import { isDisbelieved, saysThereIsNone, type Unseen } from './seen.js';

/** A payment this far from the attempt, or from now, has a wrong date: our own clock is taken. */
const PLAUSIBLE_MS = 86_400_000;
/** Looks at one charge are at least this far apart, however many hints come. */
const LOOK_APART_MS = 1_000;
/** A hint that finds no change looks again: 1 s and 5 s after the first look. */
const OWED_TO_A_HINT_MS = [1_000, 4_000];
/** A charge that the provider will not let go is asked for this often at least: the step of 5 min, later of 1 h. */
const SLOWEST_CLOSING = 3;
/** As many times a customer may still be confirming; what stays pending longer is a matter for a person. */
const PATIENT_CLOSINGS = 15;
/** The pause between looks at a charge that may still be paid grows no longer than this step, 5 min; else 1 h. */
const SLOWEST_MISS = { pending: 3, final: 4 } as const;
/** So many looks at a charge whose books are to be closed are in vain, then they close without. */
const LAST_TRIES = 6;
/** Charges that hints name and that we do not know: no more than this are looked at. */
const MAX_STRAYS = 5;
/** A charge that a hint named and that the provider does not show is forgotten after this many looks. */
const STRAY_TRIES = 4;

/** Every charge of a checkout, whoever made it, and the rules by which a retrieved one changes what is known. */
export class Charges {
  constructor(private readonly context: BookContext) {}

  get all(): readonly Charge[] {
    return this.context.record.charges;
  }

  find(id: string): Charge | undefined {
    return this.all.find((charge) => charge.id === id);
  }

  get kept(): Charge | null {
    const { kept } = this.context.record;
    return kept === null ? null : (this.find(kept) ?? null);
  }

  get areFinal(): boolean {
    return this.all.every(({ status }) => isFinalCharge(status));
  }

  /** The current attempt is to take no payment any more. */
  isWithdrawn(attempt: Attempt, now: Instant): boolean {
    const { cancelRequested, superseded, kept } = this.context.record;
    return (
      kept !== null ||
      attempt.status !== 'pending' ||
      cancelRequested ||
      (superseded !== null && superseded >= attempt.number) ||
      attempt.number < this.current.number ||
      now >= attempt.expiresAt
    );
  }

  due(now: Instant): Due[] {
    const { record } = this.context;
    const strays = record.strays.map(({ id, lookAt }): Due => ({
      at: instant(lookAt),
      step: { do: 'look', chargeId: id },
      why: 'a hint named a charge',
    }));
    const secondLook: Due[] =
      record.secondLook === null
        ? []
        : [
            {
              at: instant(record.secondLook.at),
              why: 'look once more for a late charge',
              step: {
                do: 'findCharges',
                sourceId: null,
                since: instant(record.secondLook.since),
                until: instant(Math.max(now, record.secondLook.at)),
                why: 'second look',
              },
            },
          ];
    return [...this.all.flatMap((charge) => this.#dueOf(charge, now)), ...strays, ...secondLook];
  }

  /** A hint is worth a look; nothing else of it is believed. */
  hint(now: Instant, chargeId: string | null): void {
    const charge = chargeId === null ? undefined : this.find(chargeId);
    if (chargeId !== null && charge === undefined) {
      this.addStray(now, chargeId);
      return;
    }
    for (const one of charge === undefined ? this.all : [charge]) {
      const earliest = Math.max(now, one.lookedAt + LOOK_APART_MS);
      one.lookAt = Math.min(one.lookAt ?? earliest, earliest);
      one.hinted = true;
      one.hintedAt = now;
    }
  }

  addStray(now: Instant, id: string): void {
    const { strays } = this.context.record;
    if (strays.length < MAX_STRAYS && !strays.some((stray) => stray.id === id)) {
      strays.push({ id, lookAt: now, tries: 0 });
    }
  }

  /** A person names a charge: what hints named gives way. */
  adopt(now: Instant, id: string): void {
    const { record } = this.context;
    record.strays = [{ id, lookAt: now, tries: 0 }, ...record.strays.filter((stray) => stray.id !== id)].slice(
      0,
      MAX_STRAYS,
    );
  }

  /** A person asks: every charge is looked at now. */
  lookAtAll(now: Instant): void {
    for (const charge of this.all) {
      charge.lookAt = now;
      if (charge.closeAt !== null) charge.closeAt = now;
    }
    const { secondLook } = this.context.record;
    if (secondLook !== null) secondLook.at = now;
  }

  /** A person waits no longer for the provider to let charges go. One that is paid after all is still taken in. */
  abandon(now: Instant): void {
    for (const charge of this.all) {
      const attempt = this.#attemptOf(charge);
      if (isFinalCharge(charge.status) || !this.isWithdrawn(attempt, now)) continue;
      charge.status = 'expired';
      charge.closeAt = null;
      charge.closingSince = null;
      if (attempt.chargeId === charge.id) attempt.status = 'expired';
      this.context.journal.note(now, 'charge_abandoned', charge.id);
    }
  }

  /** Whatever the provider answered to an expire call: only the look that follows decides. */
  wasAskedToExpire(now: Instant, chargeId: string): void {
    const charge = this.find(chargeId);
    if (charge === undefined) return;
    charge.closings += 1;
    charge.closingSince ??= now;
    charge.lookAt = now;
  }

  /** The provider showed a charge that we know, or one that may be ours. @returns the charge, when what was shown is believed. */
  saw(now: Instant, lookedAt: Instant, asked: string, facts: ChargeFacts): Charge | null {
    const known = this.find(asked);
    this.#forgetStray(asked);
    if (known === undefined) return this.#sawStray(now, asked, facts);
    const { status, refunded } = known;
    const isBelieved = this.apply(now, facts, asked) !== null;
    if (isBelieved) known.refunded = Math.max(known.refunded, facts.refundedAmount);
    known.misses = 0;
    known.lookedAt = lookedAt;
    const isChanged = known.status !== status || known.refunded !== refunded;
    const isJustPaid = known.status === 'successful' && status !== 'successful';
    // A hint that came while the look was under way may be about what came after it. A payment is what hints are about.
    const isOlder = lookedAt < (known.hintedAt ?? 0) && !isJustPaid;
    if (known.hinted && (!isChanged || isOlder)) known.owed = [...OWED_TO_A_HINT_MS];
    this.#planNextLook(known, now);
    return isBelieved ? known : null;
  }

  /** The provider did not answer, has no such charge, or showed another one. */
  missed(now: Instant, lookedAt: Instant, asked: string, look: Unseen): void {
    const { code } = look;
    const known = this.find(asked);
    if (known !== undefined) {
      this.#forgetStray(asked);
      known.lookedAt = lookedAt;
      this.#planNextLook(known, now);
      const { policy, record, journal } = this.context;
      if (isDisbelieved(look))
        journal.raise(now, 'integrity_mismatch', `asked for charge ${asked}: ${look.unseen}`, asked);
      const slowest = isFinalCharge(known.status) ? SLOWEST_MISS.final : SLOWEST_MISS.pending;
      const again = plus(now, lookDelay(policy, Math.min(known.misses, slowest)));
      known.lookAt = Math.min(known.lookAt ?? again, again);
      if (known.secondLookAt !== null) known.secondLookAt = Math.max(known.secondLookAt, again);
      known.misses += 1;
      if (!record.closed || known.misses < LAST_TRIES) return;
      known.lookAt = null;
      known.secondLookAt = null;
      journal.note(now, 'charge_not_shown', `${asked}: ${code}`);
      return;
    }
    const { record } = this.context;
    const stray = record.strays.find(({ id }) => id === asked);
    if (stray === undefined) return;
    stray.tries += 1;
    stray.lookAt = plus(now, lookDelay(this.context.policy, Math.min(stray.tries, SLOWEST_MISS.final)));
    // Only the provider's word that there is none, or that it is another one, ends it: an outage does not.
    if (!(saysThereIsNone(look) || isDisbelieved(look)) || stray.tries < STRAY_TRIES) return;
    this.#forgetStray(asked);
    this.context.journal.note(now, 'charge_not_shown', `${asked}: ${code}`);
  }

  /**
   * Applies what a retrieved charge says, by rank: late, repeated and reordered news change nothing. A charge that is
   * not what was asked for is not believed, whatever its status.
   * @param asked its id; null where it was searched for, or is the answer to its creation.
   * @returns the charge, when it is ours.
   */
  apply(now: Instant, facts: ChargeFacts, asked: string | null): Charge | null {
    const { journal } = this.context;
    const mismatch = this.#mismatch(facts, asked);
    if (mismatch !== null) {
      journal.raise(now, 'integrity_mismatch', mismatch, asked ?? this.find(facts.chargeId)?.id ?? '');
      return null;
    }
    journal.settle('integrity_mismatch', facts.chargeId);
    if (this.find(facts.chargeId) === undefined) journal.settle('integrity_mismatch');
    const charge = this.find(facts.chargeId) ?? this.#adopt(now, facts);
    const attempt = this.#attemptOf(charge);
    if (attempt.chargeId === charge.id) attempt.qr ??= facts.qr;
    const seen = this.#read(now, facts);
    if (seen === null) return charge;
    const status = applyChargeStatus(charge.status, seen);
    if (status === charge.status) return charge;
    charge.status = status;
    charge.closeAt = null;
    charge.closingSince = null;
    if (status === 'successful') this.#paid(now, charge, facts);
    else this.#ended(now, charge, facts);
    return charge;
  }

  #dueOf(charge: Charge, now: Instant): Due[] {
    const { policy } = this.context;
    const look = [charge.lookAt, charge.secondLookAt].flatMap((at): Due[] =>
      at === null ? [] : [{ at: instant(at), step: { do: 'look', chargeId: charge.id }, why: 'look again' }],
    );
    if (isFinalCharge(charge.status)) return look;
    const attempt = this.#attemptOf(charge);
    if (attempt.chargeId !== charge.id || this.isWithdrawn(attempt, now)) {
      // The look that follows an expire call comes before the next one.
      if (charge.lookAt !== null && charge.closings > 0) return look;
      const at = instant(charge.closeAt ?? now);
      return [...look, { at, step: { do: 'expireCharge', chargeId: charge.id }, why: 'the provider keeps it pending' }];
    }
    return [
      ...look,
      {
        at: plus(instant(charge.lookedAt), policy.pollIntervalMs),
        step: { do: 'look', chargeId: charge.id },
        why: 'wait for a webhook, then look anyway',
      },
      { at: instant(attempt.expiresAt), why: 'wait for a webhook until the QR expires' },
    ];
  }

  #planNextLook(charge: Charge, now: Instant): void {
    charge.hinted = false;
    charge.hintedAt = null;
    const [next, ...rest] = charge.owed;
    charge.owed = rest;
    charge.lookAt = next === undefined ? null : plus(now, next);
    if (charge.secondLookAt !== null && charge.lookedAt >= charge.secondLookAt) charge.secondLookAt = null;
    if (charge.closings > 0 && !isFinalCharge(charge.status)) {
      const step = charge.closings > PATIENT_CLOSINGS ? SLOWEST_CLOSING + 1 : SLOWEST_CLOSING;
      charge.closeAt = plus(now, lookDelay(this.context.policy, Math.min(charge.closings - 1, step)));
    }
  }

  #sawStray(now: Instant, asked: string, facts: ChargeFacts): Charge | null {
    const { intent, journal } = this.context;
    if (facts.checkoutId !== intent.id && !this.#isOnOurSource(facts)) {
      journal.note(now, 'charge_not_ours', asked);
      return null;
    }
    return this.apply(now, facts, asked);
  }

  #forgetStray(id: string): void {
    const { record } = this.context;
    record.strays = record.strays.filter((stray) => stray.id !== id);
  }

  /** The newest attempt. */
  get current(): Attempt {
    const last = this.context.record.attempts.at(-1);
    if (last === undefined) throw new Error('A checkout has an attempt');
    return last;
  }

  #attemptOf({ attempt }: Pick<Charge, 'attempt'>): Attempt {
    return this.context.record.attempts.find(({ number }) => number === attempt) ?? this.current;
  }

  #attemptNumberOf(facts: ChargeFacts): number {
    if (facts.attempt !== null) return Number(facts.attempt);
    const { attempts } = this.context.record;
    return (attempts.find(({ sourceId }) => sourceId !== null && sourceId === facts.sourceId) ?? this.current).number;
  }

  /** A charge without our metadata that uses a source of ours is ours. */
  #isOnOurSource({ checkoutId, sourceId }: ChargeFacts): boolean {
    return (
      checkoutId === null && sourceId !== null && this.context.record.attempts.some((one) => one.sourceId === sourceId)
    );
  }

  #mismatch(facts: ChargeFacts, asked: string | null): string | null {
    const { intent, record } = this.context;
    const { chargeId, attempt: number, sourceId } = facts;
    if (asked !== null && asked !== chargeId) return `asked for charge ${asked}, was shown ${chargeId}`;
    if (facts.checkoutId !== intent.id && !this.#isOnOurSource(facts)) {
      return `charge ${chargeId} belongs to ${facts.checkoutId ?? 'no checkout'}`;
    }
    if (facts.isOtherMode) return `charge ${chargeId} is not of our key's mode`;
    if (facts.amount !== intent.amount) return `charge ${chargeId} is over ${facts.amount}, not ${intent.amount}`;
    if (facts.currency !== intent.currency) return `charge ${chargeId} is in ${facts.currency}, not ${intent.currency}`;
    if (number !== null && !record.attempts.some((one) => String(one.number) === number)) {
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
    const { record, journal } = this.context;
    const attempt = this.#attemptOf({ attempt: this.#attemptNumberOf(facts) });
    const charge: Charge = {
      ...emptyCharge(),
      id: facts.chargeId,
      attempt: attempt.number,
      refunded: facts.refundedAmount,
      // Nobody looked yet: the first hint need not wait.
      lookedAt: now - LOOK_APART_MS,
    };
    record.charges.push(charge);
    this.#forgetStray(charge.id);
    if (attempt.chargeId === null) attempt.chargeId = charge.id;
    if (attempt.number === this.current.number) record.opening = null;
    journal.note(now, 'charge_created', attempt.number === 1 ? charge.id : `${charge.id}, attempt ${attempt.number}`);
    return charge;
  }

  /** The charge's status, or null when this version does not know it: a person is told, nothing is guessed. */
  #read(now: Instant, facts: ChargeFacts): ChargeStatus | null {
    const { journal } = this.context;
    const seen = chargeStatus(facts.status);
    if (seen === null) {
      journal.raise(now, 'unknown_status', `charge ${facts.chargeId} is ${facts.status}`, facts.chargeId);
      return null;
    }
    journal.settle('unknown_status', facts.chargeId);
    return seen === 'failed' && facts.failureCode === 'payment_expired' ? 'expired' : seen;
  }

  #ended(now: Instant, charge: Charge, { failureCode, failureMessage }: ChargeFacts): void {
    const { record, journal } = this.context;
    const attempt = this.#attemptOf(charge);
    if (attempt.chargeId === charge.id) {
      attempt.status = charge.status;
      attempt.failureCode = failureCode;
      attempt.failureMessage = failureMessage;
    }
    const isLast = attempt.number === this.current.number && record.superseded === null;
    const what = isLast && record.cancelRequested && record.kept === null ? 'cancelled' : charge.status;
    const detail = [...(isLast ? [] : [`attempt ${attempt.number}`]), ...(failureCode === null ? [] : [failureCode])];
    journal.note(now, what, detail.length === 0 ? undefined : detail.join(': '));
  }

  #paid(now: Instant, charge: Charge, facts: ChargeFacts): void {
    const { record, journal } = this.context;
    const attempt = this.#attemptOf(charge);
    charge.paidAt = this.#paidAt(now, attempt, facts);
    attempt.status = 'successful';
    if (record.kept === null || attempt.chargeId === null) {
      attempt.chargeId = charge.id;
      // Later looks at the payment are compared with it.
      attempt.sourceId = facts.sourceId ?? attempt.sourceId;
    }
    attempt.failureCode = null;
    attempt.failureMessage = null;
    if (record.kept !== null) {
      journal.note(now, 'paid_twice', charge.id);
      journal.raise(now, 'double_payment', `${charge.id} was paid although ${record.kept} was`, charge.id);
      return;
    }
    record.kept = charge.id;
    journal.note(now, 'paid', charge.id);
    // Who asked for another attempt still waits for the money.
    if (isAwaitingPayment(record.reported) || record.superseded !== null) return;
    record.lateAfter = record.reported;
    journal.raise(now, 'late_payment', `paid after it was reported as ${record.reported}`, charge.id);
  }

  #paidAt(now: Instant, { createdAt }: Attempt, { paidAt }: ChargeFacts): Instant {
    const told = paidAt === null ? now : parseInstant(paidAt);
    return told >= createdAt - PLAUSIBLE_MS && told <= now + PLAUSIBLE_MS ? told : now;
  }
}
