import { instant, plus, type Instant } from '@tillflow/domain';
import type { ChargeFacts } from '../../activities.js';
import type { Outcome } from '../../../shared/outcome.js';
import {
  lookupLater,
  lookupNow,
  provesAbsence,
  repeatAt,
  retryLater,
  startCall,
  startLookup,
  type PendingCall,
} from '../../../shared/unknown-outcome.js';
import type { Attempt } from '../attempts.js';
import type { ModelContext } from '../context.js';
import type { Due } from '../schedule.js';

/** The call that gives the current attempt its source, then its charge; `unknown` while its charge is searched for. */
export type CreationInProgress = PendingCall & { stage: 'source' | 'charge' | 'unknown' };

export type CreationState = {
  /** Null once the current attempt has its charge, or never gets one. */
  inProgress: CreationInProgress | null;
  /** When charges created after `since` are searched for once more. Milliseconds since 1970 (UTC). */
  lateEffectCheck: { at: number; since: number } | null;
};

/**
 * The result of a search for the current attempt's charge. `disbelieved`: the search found a charge that does not match
 * the checkout.
 */
export type SearchResult = 'no answer' | 'found' | 'disbelieved' | 'nothing';

/** Creates a source and a charge for the current attempt, and looks them up when the outcome is unknown. */
export class Creation {
  constructor(
    private readonly context: ModelContext,
    private readonly state: CreationState,
  ) {}

  get inProgress(): Readonly<CreationInProgress> | null {
    return this.state.inProgress;
  }

  get isUnknown(): boolean {
    return this.state.inProgress?.stage === 'unknown';
  }

  /** Opens the next attempt. @param startedAt when the customer's time began. */
  start(now: Instant, startedAt: Instant, sourceId: string | null): void {
    const { attempts, intent } = this.context;
    attempts.open(now, startedAt, intent.expires_in, sourceId);
    this.state.inProgress = { ...startCall(now), stage: sourceId === null ? 'source' : 'charge' };
  }

  /** The current attempt has its charge. */
  finish(): void {
    this.state.inProgress = null;
  }

  due(): Due[] {
    const { inProgress } = this.state;
    if (inProgress === null) return [];
    const { number, sourceId, createdAt, expiresAt } = this.#attempt;
    const at = instant(inProgress.dueAt);
    const end: Due = { at: instant(expiresAt), why: 'then the time to pay ends' };
    switch (inProgress.stage) {
      case 'source':
        return [{ at, step: { do: 'createSource' }, why: 'then create a source again' }, end];
      case 'charge': {
        const step = { do: 'createCharge', attempt: number, sourceId: sourceId ?? '' } as const;
        return [{ at, step, why: 'then create a charge again' }, end];
      }
      case 'unknown': {
        const [since, until] = [instant(createdAt), instant(inProgress.inFlightUntil)];
        const step = { do: 'findCharges', sourceId, since, until, why: 'unknown' } as const;
        return [{ at, step, why: 'then search for the charge, its outcome is unknown' }];
      }
    }
  }

  lateEffectCheckDue(now: Instant): Due[] {
    const { lateEffectCheck } = this.state;
    if (lateEffectCheck === null) return [];
    const [at, since] = [instant(lateEffectCheck.at), instant(lateEffectCheck.since)];
    const until = instant(Math.max(now, at));
    const step = { do: 'findCharges', sourceId: null, since, until, why: 'late effect' } as const;
    return [{ at, step, why: 'then search for a late charge' }];
  }

  /** Stops creating a charge that must not be paid any more. Nothing is in flight then. */
  stopWhenWithdrawn(now: Instant): void {
    const { inProgress } = this.state;
    if (inProgress === null || inProgress.stage === 'unknown' || !this.#isWithdrawn(now)) return;
    this.#giveUp(now, 'before the provider accepted a charge');
  }

  /** A source moves no money: when its outcome is unknown, another source is created. */
  applySource(now: Instant, outcome: Outcome<{ readonly sourceId: string }>): void {
    const { attempts, timeline, policy } = this.context;
    const { inProgress } = this.state;
    if (inProgress === null) return;
    if (outcome.kind === 'done') {
      const { sourceId } = outcome.value;
      attempts.setSource(sourceId);
      this.state.inProgress = { ...startCall(now), stage: 'charge' };
      // Its attempt shows the id.
      timeline.note(now, 'source_created');
    } else if (outcome.kind === 'rejected' && !outcome.retryable) {
      this.#refuse(now, outcome);
    } else {
      retryLater(policy, inProgress, now, outcome.code);
    }
  }

  /**
   * The call ended without a charge that matches the checkout.
   * @param inFlightUntil the call can take no effect after this.
   */
  applyNoCharge(now: Instant, outcome: Outcome<ChargeFacts>, inFlightUntil: Instant): void {
    const { policy, timeline } = this.context;
    const { inProgress } = this.state;
    if (inProgress === null) return;
    if (outcome.kind === 'rejected' && outcome.retryable && !inProgress.wasUnknown) {
      retryLater(policy, inProgress, now, outcome.code);
      return;
    }
    inProgress.stage = 'unknown';
    const why = startLookup(policy, inProgress, now, outcome, inFlightUntil);
    if (why !== null) timeline.note(now, 'outcome_unknown', why);
  }

  applySearch(now: Instant, searchedAt: Instant, result: SearchResult): void {
    const { inProgress } = this.state;
    if (inProgress === null || inProgress.stage !== 'unknown') return;
    // A charge that is shown but not believed does not prove that no charge was created.
    if (result === 'disbelieved') inProgress.absentLookups = 0;
    if (result === 'nothing' && provesAbsence(inProgress, searchedAt)) this.#absent(now, inProgress);
    else lookupLater(this.context.policy, inProgress, now);
  }

  applyLateEffectCheck(now: Instant, isAnswered: boolean): void {
    const { lateEffectCheck } = this.state;
    if (isAnswered) this.state.lateEffectCheck = null;
    else if (lateEffectCheck !== null) lateEffectCheck.at = plus(now, this.context.policy.lateEffectCheckMs);
  }

  /** Makes the next step of the creation, whichever it is, without the rest of its delay. */
  continueNow(now: Instant): void {
    const { inProgress } = this.state;
    if (inProgress !== null) lookupNow(inProgress, now);
  }

  checkForLateEffectNow(now: Instant): void {
    if (this.state.lateEffectCheck !== null) this.state.lateEffectCheck.at = now;
  }

  /** An operator decides not to wait any longer for a charge. The model still applies a charge that appears later. */
  abandon(now: Instant): void {
    if (!this.isUnknown) return;
    this.#checkForLateEffect(now);
    this.#giveUp(now, 'abandoned by an operator');
  }

  get #attempt(): Readonly<Attempt> {
    return this.context.attempts.current;
  }

  #isWithdrawn(now: Instant): boolean {
    return this.context.attempts.isWithdrawn(this.#attempt, now);
  }

  /** The provider has no charge, and no call can create one any more. */
  #absent(now: Instant, call: CreationInProgress): void {
    const { policy, timeline } = this.context;
    if (call.wasUnknown) {
      timeline.note(now, 'charge_absent', `no charge uses ${this.#attempt.sourceId ?? 'the source'}`);
      this.#checkForLateEffect(now);
    }
    if (call.refusal !== null) this.#refuse(now, call.refusal);
    else if (this.#isWithdrawn(now)) this.#giveUp(now, 'before the provider accepted a charge');
    else {
      call.stage = 'charge';
      call.dueAt = repeatAt(policy, call, now);
      call.tries = 0;
    }
  }

  /** A call that was given up can still take effect, so charges are searched for a while later. */
  #checkForLateEffect(now: Instant): void {
    const since = Math.min(this.state.lateEffectCheck?.since ?? now, this.#attempt.createdAt);
    this.state.lateEffectCheck = { at: plus(now, this.context.policy.lateEffectCheckMs), since };
  }

  /** An attempt that must not be paid any more needs no charge: the provider also refuses a charge whose time is over. */
  #refuse(now: Instant, { code, message }: { readonly code: string; readonly message: string }): void {
    const { attempts, timeline } = this.context;
    if (this.#isWithdrawn(now)) {
      this.#giveUp(now, `before the provider accepted a charge (${code}: ${message})`);
      return;
    }
    attempts.end(this.#attempt.number, 'failed', { code, message });
    this.finish();
    timeline.note(now, 'refused', `${code}: ${message}`);
  }

  #giveUp(now: Instant, why: string): void {
    const { attempts, timeline } = this.context;
    attempts.end(this.#attempt.number, 'expired', { code: null, message: null });
    this.finish();
    timeline.note(now, attempts.isCancelRequested && !attempts.isPaid ? 'cancelled' : 'expired', why);
  }
}
