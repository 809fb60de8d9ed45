import {
  describeRefusal,
  formatMoney,
  instant,
  leftToRefund,
  refundKind,
  refuseRefund,
  type Instant,
} from '@tillflow/domain';
import type { ChargeFacts, RefundFacts } from '../../activities.js';
import { ABANDONED } from '../../types.js';
import type { Outcome } from '../../../shared/outcome.js';
import { sendWindow } from '../../../shared/policy.js';
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
import type { Charge } from '../charges/polling.js';
import type { Charges } from '../charges/charges.js';
import type { ModelContext } from '../context.js';
import type { Due } from '../schedule.js';
import { entryOf, mayBeInProgress, mismatchOf, type Expected } from './matching.js';
import { returnedAmount, succeededAmount, type RefundEntry, type Refunds } from './refunds.js';

/** The refund that is being made: the charge is retrieved, then the refund sent, then looked up if it is `unknown`. */
export type RefundInProgress = PendingCall & {
  key: string;
  stage: 'retrieve' | 'send' | 'unknown';
  /** The provider refused the void, so a refund is sent instead. */
  voidRefused: boolean;
};

export type RefundingState = {
  /** Null while no refund is pending. */
  inProgress: RefundInProgress | null;
  /** The provider's id of the refund that an operator says is the one in progress. */
  adopting: string | null;
};

type Failure = { readonly code: string; readonly message: string };

/** Makes the pending refunds, never two at the same time, and applies what the provider lists. */
export class Refunding {
  constructor(
    private readonly context: ModelContext,
    private readonly state: RefundingState,
    private readonly refunds: Refunds,
    private readonly charges: Charges,
  ) {}

  /** A refund was sent, and its outcome is not known. */
  get isUnresolved(): boolean {
    const { inProgress } = this.state;
    return inProgress !== null && (inProgress.wasUnknown || inProgress.stage === 'send');
  }

  due(): Due[] {
    const returns = this.refunds.all.flatMap(({ retryAt }): Due[] =>
      retryAt === null ? [] : [{ at: instant(retryAt), why: 'then try to return the money again' }],
    );
    const current = this.#current();
    if (current === null) return returns;
    const { inProgress, entry } = current;
    const at = instant(inProgress.dueAt);
    const { key, chargeId, amount, kind } = entry;
    switch (inProgress.stage) {
      case 'retrieve':
        return [
          ...returns,
          { at, step: { do: 'retrieveCharge', chargeId }, why: 'then retrieve the charge, and refund' },
        ];
      case 'send': {
        const step = { do: 'createRefund', key, chargeId, amount, asVoid: kind === 'void' } as const;
        return [...returns, { at, step, why: 'then refund' }];
      }
      case 'unknown':
        return [
          ...returns,
          { at, step: { do: 'retrieveCharge', chargeId }, why: 'then look up a refund, its outcome is unknown' },
        ];
    }
  }

  /** Starts the oldest pending refund when none is in progress. */
  startNext(now: Instant): void {
    if (this.state.inProgress !== null) return;
    const next = this.refunds.all.find(({ status }) => status === 'pending');
    if (next === undefined) return;
    const { key, inFlightUntil } = next;
    const call: RefundInProgress = { ...startCall(now), key, stage: 'retrieve', voidRefused: false };
    // It was given up while its outcome was unknown, and requested again: it is looked up before it is sent again.
    const unknown = inFlightUntil === null ? {} : ({ stage: 'unknown', wasUnknown: true, inFlightUntil } as const);
    this.state.inProgress = { ...call, ...unknown };
  }

  /** Applies the refunds that a retrieved charge lists, and continues with the one in progress. */
  applyRetrieved(now: Instant, retrievedAt: Instant, charge: Readonly<Charge>, facts: ChargeFacts): void {
    const { policy } = this.context;
    const isListedWrong = facts.refunds.map((refund) => this.#applyListed(now, charge.id, refund)).includes(false);
    const isMatched = this.#checkMatched(now, charge, facts) && !isListedWrong;
    const current = this.#current();
    if (current?.entry.chargeId !== charge.id || current.inProgress.stage === 'send') return;
    const { inProgress, entry } = current;
    // The provider lists it, so it was made, whatever the answer was.
    if (isListedWrong) Object.assign(inProgress, { stage: 'unknown', wasUnknown: true } as const);
    if (!isMatched) inProgress.absentLookups = 0;
    if (entry.status !== 'pending') this.#finish();
    // A reversed charge, or an answer older than the known state, decides nothing.
    else if (facts.status !== 'successful') this.applyMiss(now, charge.id);
    else if (!isMatched && inProgress.wasUnknown) lookupLater(policy, inProgress, now);
    else if (inProgress.stage === 'unknown') this.#applyAbsence(now, retrievedAt, inProgress, entry);
    // A retrieve for another reason does not shorten the delay before the next try.
    else if (retrievedAt >= inProgress.dueAt) this.#decide(now, inProgress, entry, charge, facts);
  }

  /** The provider did not show the charge. */
  applyMiss(now: Instant, chargeId: string): void {
    const current = this.#current();
    if (current?.entry.chargeId !== chargeId) return;
    const { inProgress } = current;
    if (inProgress.stage === 'unknown') lookupLater(this.context.policy, inProgress, now);
    else if (inProgress.stage === 'retrieve') retryLater(this.context.policy, inProgress, now);
  }

  /** @param inFlightUntil the call can take no effect after this. */
  applyOutcome(now: Instant, key: string, outcome: Outcome<RefundFacts>, inFlightUntil: Instant): void {
    const { timeline, policy } = this.context;
    const chargeId = this.refunds.find(key)?.chargeId;
    if (chargeId === undefined || this.charges.find(chargeId) === undefined) return;
    if (outcome.kind === 'done') {
      // The answer to Tillflow's own request is about this refund, even where it does not repeat the key.
      this.#applyListed(now, chargeId, { ...outcome.value, key: outcome.value.key ?? key });
      this.charges.sawRefunded(chargeId, succeededAmount(this.refunds.all, chargeId));
    }
    const { inProgress } = this.state;
    if (inProgress === null || inProgress.key !== key) {
      // During the call, the refund succeeded, or an operator abandoned it.
      if (outcome.kind !== 'done') this.charges.checkForLateRefund(now, chargeId);
      return;
    }
    if (outcome.kind === 'rejected' && outcome.retryable && !inProgress.wasUnknown) {
      inProgress.stage = 'retrieve';
      retryLater(policy, inProgress, now, outcome.code);
      return;
    }
    inProgress.stage = 'unknown';
    const why = startLookup(policy, inProgress, now, outcome, inFlightUntil);
    if (why !== null) timeline.note(now, 'refund_unknown', why);
  }

  lookupNow(now: Instant): void {
    const { inProgress } = this.state;
    if (inProgress !== null && inProgress.stage !== 'send') lookupNow(inProgress, now);
  }

  /** An operator says that the provider's refund `id` is the one that is pending. */
  adopt(id: string): void {
    const isAnyPending = this.refunds.all.some(({ status }) => status === 'pending');
    this.state.adopting = isAnyPending ? id : null;
  }

  /** An operator decides not to wait any longer for the refund. The model still applies a refund that appears later. */
  abandon(now: Instant): void {
    const current = this.#current();
    if (current === null || !this.isUnresolved) return;
    const { inProgress, entry } = current;
    const { inFlightUntil } = sendWindow(this.context.policy, now);
    if (inProgress.stage === 'send') this.refunds.setInFlightUntil(entry.key, inFlightUntil);
    else if (inProgress.wasUnknown) {
      this.refunds.setInFlightUntil(entry.key, Math.max(inProgress.inFlightUntil, now));
      this.charges.checkForLateRefund(now, entry.chargeId);
    }
    this.#reject(now, entry, { code: ABANDONED, message: 'an operator no longer waits for its outcome' });
  }

  #current(): { readonly inProgress: RefundInProgress; readonly entry: Readonly<RefundEntry> } | null {
    const { inProgress } = this.state;
    const entry = inProgress === null ? undefined : this.refunds.find(inProgress.key);
    return inProgress === null || entry === undefined ? null : { inProgress, entry };
  }

  get #expected(): Expected {
    return { ...this.state, entries: this.refunds.all };
  }

  /** The freshly retrieved charge decides whether the refund is possible, over which amount, and of which kind. */
  #decide(
    now: Instant,
    call: RefundInProgress,
    entry: Readonly<RefundEntry>,
    charge: Readonly<Charge>,
    facts: ChargeFacts,
  ): void {
    const { intent } = this.context;
    const returned = Math.max(facts.refundedAmount, returnedAmount(this.refunds.all, charge));
    const payment = { paid: intent.amount, returned, pending: 0, paidAt: instant(charge.paidAt ?? now) };
    const left = leftToRefund(payment);
    // Tillflow returns all that is left, also when someone refunded a part meanwhile.
    const amount = entry.by === 'tillflow' && left > 0 ? Math.min(entry.amount, left) : entry.amount;
    const refusal = refuseRefund(payment, amount, now);
    if (refusal !== null) {
      this.#reject(now, entry, { code: refusal.code, message: describeRefusal(refusal, intent.currency) });
      return;
    }
    this.refunds.determine(entry.key, amount, refundKind(payment, amount, facts.canVoid && !call.voidRefused));
    call.stage = 'send';
    call.dueAt = now;
  }

  /** The provider lists no such refund. */
  #applyAbsence(now: Instant, retrievedAt: Instant, call: RefundInProgress, entry: Readonly<RefundEntry>): void {
    const { timeline, policy } = this.context;
    if (!provesAbsence(call, retrievedAt)) {
      lookupLater(policy, call, now);
      return;
    }
    if (call.wasUnknown) {
      timeline.note(now, 'refund_absent', entry.key);
      this.charges.checkForLateRefund(now, entry.chargeId);
    }
    const { refusal } = call;
    if (refusal !== null && entry.kind === 'refund') {
      this.#reject(now, entry, refusal);
      return;
    }
    if (refusal !== null) {
      this.refunds.voidRefused(now, entry.key, refusal);
      call.voidRefused = true;
    }
    call.stage = 'retrieve';
    call.dueAt = refusal === null ? repeatAt(policy, call, now) : now;
    call.refusal = null;
    call.tries = 0;
  }

  /** @returns false when it is the refund in progress, and differs from what was requested. */
  #applyListed(now: Instant, chargeId: string, facts: RefundFacts): boolean {
    const { refundId } = facts;
    const { attentions, intent } = this.context;
    const known = this.refunds.all.find(({ id }) => id === refundId);
    if (known !== undefined && known.by !== 'elsewhere') return true;
    const entry = entryOf(this.#expected, chargeId, facts);
    const awaited = entry?.id === null ? entry : undefined;
    // It counted as made elsewhere until its key was seen, or an operator named it.
    if (awaited !== undefined) this.refunds.removeElsewhere(refundId);
    const mismatch = mismatchOf(awaited, facts, intent.currency);
    if (mismatch === null) attentions.settle('integrity_mismatch', refundId);
    else attentions.raise(now, 'integrity_mismatch', `refund ${refundId} ${mismatch}`, refundId);
    if (awaited !== undefined) {
      if (mismatch !== null) return this.state.inProgress?.key !== awaited.key;
      if (refundId === this.state.adopting) this.state.adopting = null;
      this.refunds.succeed(now, awaited.key, facts);
      if (this.state.inProgress?.key === awaited.key) this.#finish();
      return true;
    }
    if (entry !== undefined) {
      const detail = `${entry.key} was made twice: ${entry.id} and ${refundId}`;
      attentions.raiseOnce(now, 'refund_doubled', detail, refundId);
    }
    // Whatever its currency, its amount is not refunded again.
    const isUndecided = known !== undefined || mayBeInProgress(this.#expected, chargeId, facts);
    if (!isUndecided) this.refunds.addElsewhere(now, chargeId, facts);
    return true;
  }

  /**
   * @returns false while more is refunded than the provider lists, or it lists a refund that only an operator can
   * match.
   */
  #checkMatched(now: Instant, charge: Readonly<Charge>, { refunds, refundedAmount }: ChargeFacts): boolean {
    const { attentions, intent } = this.context;
    const money = (amount: number): string => formatMoney({ amount, currency: intent.currency });
    const listed = succeededAmount(this.refunds.all, charge.id);
    const undecided = refunds.find((refund) => mayBeInProgress(this.#expected, charge.id, refund));
    if (undecided === undefined && Math.max(charge.refunded, refundedAmount) <= listed) {
      attentions.settle('refund_unmatched', charge.id);
      return true;
    }
    const detail =
      undecided === undefined
        ? `the provider reports ${money(refundedAmount)} of ${charge.id} as refunded, but its listed refunds add up to ${money(listed)}`
        : `it is not known whether ${undecided.refundId} (${money(undecided.amount)}) is the refund ${this.state.inProgress?.key ?? ''}`;
    attentions.raise(now, 'refund_unmatched', detail, charge.id);
    return false;
  }

  #reject(now: Instant, { key, chargeId }: Readonly<RefundEntry>, failure: Failure): void {
    this.refunds.reject(now, key, this.charges.find(chargeId), failure);
    this.#finish();
  }

  #finish(): void {
    this.state.inProgress = null;
    this.state.adopting = null;
  }
}
