import { instant, plus, type Instant } from '@tillflow/domain';
import type { ChargeFacts } from '../activities.js';
import type { Outcome } from '../outcome.js';
import type { Charges } from './charges.js';
import type { BookContext, Due } from './context.js';
import type { Attempt, Opening as OpeningRecord } from './record.js';
import { doubt, hurry, lookLater, provesAbsence, repeatAt, retryLater, startResolving } from './resolving.js';

/** How an attempt comes to its charge: a source, then a charge, and what follows when it is not known whether it did. */
export class Opening {
  constructor(
    private readonly context: BookContext,
    private readonly charges: Charges,
  ) {}

  get current(): Attempt {
    return this.charges.current;
  }

  get isInDoubt(): boolean {
    return this.context.record.opening?.stage === 'doubt';
  }

  /** @param askedAt when the customer's time began. */
  open(now: Instant, askedAt: Instant, sourceId: string | null): void {
    const { intent, record } = this.context;
    record.attempts.push({
      number: record.attempts.length + 1,
      sourceId,
      chargeId: null,
      status: 'pending',
      failureCode: null,
      failureMessage: null,
      createdAt: now,
      expiresAt: plus(askedAt, intent.expires_in * 1_000),
      qr: null,
    });
    record.opening = { ...startResolving(now), stage: sourceId === null ? 'source' : 'charge' };
    record.superseded = null;
    record.endedAt = null;
  }

  due(): Due[] {
    const { opening } = this.context.record;
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
      case 'doubt':
        return [
          {
            at,
            why: 'outcome unknown: look again',
            step: {
              do: 'findCharges',
              sourceId,
              since: instant(createdAt),
              until: instant(opening.quietAt),
              why: 'doubt',
            },
          },
        ];
    }
  }

  /** Ends what waits for nothing but a next try, once no one is to pay any more. Nothing is in flight then. */
  stopWhenWithdrawn(now: Instant): void {
    const { opening } = this.context.record;
    if (opening === null || opening.stage === 'doubt' || !this.charges.isWithdrawn(this.current, now)) return;
    this.#giveUp(now, 'before the provider took the charge');
  }

  /** Nothing is charged by a source: one whose outcome is unknown is left behind and another made. */
  sourceAnswered(now: Instant, outcome: Outcome<{ readonly sourceId: string }>): void {
    const { record, journal, policy } = this.context;
    const { opening } = record;
    if (opening === null) return;
    if (outcome.kind === 'done') {
      this.current.sourceId = outcome.value.sourceId;
      record.opening = { ...startResolving(now), stage: 'charge' };
      journal.note(now, 'source_created', outcome.value.sourceId);
    } else if (outcome.kind === 'rejected' && !outcome.retryable) {
      this.#refused(now, outcome);
    } else {
      retryLater(policy, opening, now, outcome.code);
    }
  }

  chargeAnswered(now: Instant, outcome: Outcome<ChargeFacts>, quietAt: Instant): void {
    const { record, policy, journal } = this.context;
    const { opening } = record;
    if (opening === null) return;
    if (outcome.kind === 'done' && this.charges.apply(now, outcome.value, null) !== null) return;
    if (outcome.kind === 'rejected' && outcome.retryable && !opening.doubted) {
      retryLater(policy, opening, now, outcome.code);
      return;
    }
    opening.stage = 'doubt';
    const why = doubt(policy, opening, now, outcome, quietAt);
    if (why !== null) journal.note(now, 'outcome_unknown', why);
  }

  /** @param found the charges that a search showed; null when the provider did not answer. */
  searched(now: Instant, lookedAt: Instant, found: readonly ChargeFacts[] | null): void {
    const { opening } = this.context.record;
    if (opening === null || opening.stage !== 'doubt') return;
    const isOurs = found?.some((facts) => this.charges.find(facts.chargeId)?.attempt === this.current.number) === true;
    // One that is shown and not believed is no proof that there is none.
    const isDisbelieved = found?.some(({ chargeId }) => this.charges.find(chargeId) === undefined) === true;
    if (isDisbelieved) opening.absences = 0;
    if (found === null || isOurs || isDisbelieved || !provesAbsence(opening, lookedAt)) {
      lookLater(this.context.policy, opening, now);
      return;
    }
    this.#absent(now, opening);
  }

  hurry(now: Instant): void {
    const { opening } = this.context.record;
    if (opening !== null) hurry(opening, now);
  }

  /** A person says that no charge will come of it. What shows up later is still taken in. */
  abandon(now: Instant): void {
    if (!this.isInDoubt) return;
    this.#lookOnceMore(now);
    this.#giveUp(now, 'abandoned by an operator');
  }

  #absent(now: Instant, opening: OpeningRecord): void {
    const { journal } = this.context;
    if (opening.doubted) {
      journal.note(now, 'charge_absent', `no charge uses ${this.current.sourceId ?? 'it'}`);
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
    const { record, policy } = this.context;
    const since = Math.min(record.secondLook?.since ?? now, this.current.createdAt);
    record.secondLook = { at: plus(now, policy.secondLookMs), since };
  }

  #refused(now: Instant, { code, message }: { readonly code: string; readonly message: string }): void {
    const { current } = this;
    current.status = 'failed';
    current.failureCode = code;
    current.failureMessage = message;
    this.context.record.opening = null;
    this.context.journal.note(now, 'refused', `${code}: ${message}`);
  }

  #giveUp(now: Instant, why: string): void {
    const { record, journal } = this.context;
    this.current.status = 'expired';
    record.opening = null;
    journal.note(now, record.cancelRequested && record.kept === null ? 'cancelled' : 'expired', why);
  }
}
