import { instant, plus, type Instant } from '@tillflow/domain';
import type { ChargeFacts } from '../../activities.js';
import type { Outcome } from '../../../shared/outcome.js';
import type { Charges } from './charges.js';
import type { ModelContext, Due } from '../context.js';
import type { Attempt, Opening as CreationState } from '../state.js';
import {
  doubt,
  hurry,
  lookupLater,
  provesAbsence,
  repeatAt,
  retryLater,
  startCall,
} from '../../../shared/unknown-outcome.js';

/** How an attempt comes to its charge: a source, then a charge, and what follows when it is not known whether it did. */
export class Opening {
  constructor(
    private readonly context: ModelContext,
    private readonly charges: Charges,
  ) {}

  get current(): Attempt {
    return this.charges.current;
  }

  get isUnknown(): boolean {
    return this.context.state.opening?.stage === 'unknown';
  }

  /** @param askedAt when the customer's time began. */
  open(now: Instant, askedAt: Instant, sourceId: string | null): void {
    const { intent, state } = this.context;
    state.attempts.push({
      number: state.attempts.length + 1,
      sourceId,
      chargeId: null,
      status: 'pending',
      failureCode: null,
      failureMessage: null,
      createdAt: now,
      expiresAt: plus(askedAt, intent.expires_in * 1_000),
      qr: null,
    });
    state.opening = { ...startCall(now), stage: sourceId === null ? 'source' : 'charge' };
    state.replacedAttempt = null;
    state.endedAt = null;
  }

  due(): Due[] {
    const { opening } = this.context.state;
    if (opening === null) return [];
    const at = instant(opening.dueAt);
    const { number, sourceId, createdAt, expiresAt } = this.current;
    switch (opening.stage) {
      case 'source':
        return [
          { at, step: { do: 'createSource' }, why: 'no source yet' },
          { at: instant(expiresAt), why: 'time is up' },
        ];
      case 'charge':
        return [
          { at, step: { do: 'createCharge', attempt: number, sourceId: sourceId ?? '' }, why: 'no charge yet' },
          { at: instant(expiresAt), why: 'time is up' },
        ];
      case 'unknown':
        return [
          {
            at,
            why: 'outcome unknown: look again',
            step: {
              do: 'findCharges',
              sourceId,
              since: instant(createdAt),
              until: instant(opening.inFlightUntil),
              why: 'unknown',
            },
          },
        ];
    }
  }

  /** Ends what waits for nothing but a next try, once no one is to pay any more. Nothing is in flight then. */
  stopWhenWithdrawn(now: Instant): void {
    const { opening } = this.context.state;
    if (opening === null || opening.stage === 'unknown' || !this.charges.isWithdrawn(this.current, now)) return;
    this.#giveUp(now, 'before the provider took the charge');
  }

  /** Nothing is charged by a source: one whose outcome is unknown is left behind and another made. */
  applySource(now: Instant, outcome: Outcome<{ readonly sourceId: string }>): void {
    const { state, timeline, policy } = this.context;
    const { opening } = state;
    if (opening === null) return;
    if (outcome.kind === 'done') {
      this.current.sourceId = outcome.value.sourceId;
      state.opening = { ...startCall(now), stage: 'charge' };
      timeline.note(now, 'source_created', outcome.value.sourceId);
    } else if (outcome.kind === 'rejected' && !outcome.retryable) {
      this.#refused(now, outcome);
    } else {
      retryLater(policy, opening, now, outcome.code);
    }
  }

  applyCharge(now: Instant, outcome: Outcome<ChargeFacts>, inFlightUntil: Instant): void {
    const { state, policy, timeline } = this.context;
    const { opening } = state;
    if (opening === null) return;
    if (outcome.kind === 'done' && this.charges.apply(now, outcome.value, null) !== null) return;
    if (outcome.kind === 'rejected' && outcome.retryable && !opening.wasUnknown) {
      retryLater(policy, opening, now, outcome.code);
      return;
    }
    opening.stage = 'unknown';
    const why = doubt(policy, opening, now, outcome, inFlightUntil);
    if (why !== null) timeline.note(now, 'outcome_unknown', why);
  }

  /** @param found the charges that a search showed; null when the provider did not answer. */
  searched(now: Instant, retrievedAt: Instant, found: readonly ChargeFacts[] | null): void {
    const { opening } = this.context.state;
    if (opening === null || opening.stage !== 'unknown') return;
    const isOurs = found?.some((facts) => this.charges.find(facts.chargeId)?.attempt === this.current.number) === true;
    // One that is shown and not believed is no proof that there is none.
    const isDisbelieved = found?.some(({ chargeId }) => this.charges.find(chargeId) === undefined) === true;
    if (isDisbelieved) opening.absentLookups = 0;
    if (found === null || isOurs || isDisbelieved || !provesAbsence(opening, retrievedAt)) {
      lookupLater(this.context.policy, opening, now);
      return;
    }
    this.#absent(now, opening);
  }

  hurry(now: Instant): void {
    const { opening } = this.context.state;
    if (opening !== null) hurry(opening, now);
  }

  /** A person says that no charge will come of it. What shows up later is still taken in. */
  abandon(now: Instant): void {
    if (!this.isUnknown) return;
    this.#lookOnceMore(now);
    this.#giveUp(now, 'abandoned by an operator');
  }

  #absent(now: Instant, opening: CreationState): void {
    const { timeline } = this.context;
    if (opening.wasUnknown) {
      timeline.note(now, 'charge_absent', `no charge uses ${this.current.sourceId ?? 'it'}`);
      this.#lookOnceMore(now);
    }
    if (opening.refusal !== null) this.#refused(now, opening.refusal);
    else if (this.charges.isWithdrawn(this.current, now)) this.#giveUp(now, 'before the provider took the charge');
    else {
      opening.stage = 'charge';
      opening.dueAt = repeatAt(this.context.policy, opening, now);
      opening.tries = 0;
    }
  }

  /** A call that we gave up may come through after all: its charge is searched for a while later. */
  #lookOnceMore(now: Instant): void {
    const { state, policy } = this.context;
    const since = Math.min(state.lateEffectCheck?.since ?? now, this.current.createdAt);
    state.lateEffectCheck = { at: plus(now, policy.lateEffectCheckMs), since };
  }

  #refused(now: Instant, { code, message }: { readonly code: string; readonly message: string }): void {
    const { current } = this;
    current.status = 'failed';
    current.failureCode = code;
    current.failureMessage = message;
    this.context.state.opening = null;
    this.context.timeline.note(now, 'refused', `${code}: ${message}`);
  }

  #giveUp(now: Instant, why: string): void {
    const { state, timeline } = this.context;
    this.current.status = 'expired';
    state.opening = null;
    timeline.note(now, state.cancelRequested && state.acceptedCharge === null ? 'cancelled' : 'expired', why);
  }
}
