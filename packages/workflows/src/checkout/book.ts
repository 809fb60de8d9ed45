import {
  applyChargeStatus,
  chargeStatus,
  formatInstant,
  instant,
  isAwaitingPayment,
  isFinalCharge,
  parseInstant,
  plus,
  refundableUntil,
  voidableUntil,
  voidRule,
  type ChargeStatus,
  type CheckoutStatus,
  type Instant,
} from '@tillflow/domain';
import type { ChargeFacts } from '../activities.js';
import type { Attention, AttentionCode, AttemptView, CheckoutIntent, CheckoutState, TimelineEntry } from '../view.js';
import type { CheckoutPolicy } from './policy.js';

type Attempt = {
  number: number;
  sourceId: string | null;
  chargeId: string | null;
  status: ChargeStatus;
  failureCode: string | null;
  failureMessage: string | null;
  createdAt: string;
  expiresAt: string;
  qr: { downloadUri: string; rawData: string | null } | null;
};

/** Everything a checkout knows, as plain JSON: it survives continue-as-new. */
export type CheckoutRecord = {
  attempt: Attempt;
  paidAt: string | null;
  cancelRequested: boolean;
  endedAt: string | null;
  /** The status last written to the memo: what the world was told. */
  reported: CheckoutStatus;
  /** When the provider was last seen to answer, and since when it was asked to let the charge go. */
  answeredAt: string;
  closingSince: string | null;
  attentions: Attention[];
  timeline: TimelineEntry[];
};

/** Of several, the first is shown. */
const ATTENTION_ORDER: readonly AttentionCode[] = [
  'integrity_mismatch',
  'unknown_status',
  'late_payment',
  'outcome_unknown',
  'expire_refused',
  'provider_unreachable',
];

/** A payment this far from the attempt, or from now, has a wrong date: our own clock is taken. */
const PLAUSIBLE_MS = 86_400_000;

/** More than this and the oldest in the middle give way: the memo stays small whatever webhooks do. */
const TIMELINE_LIMIT = 60;

/**
 * What is known of one checkout, and the rules by which news changes it. Pure: no clock, no I/O.
 * Only facts from a retrieved charge make it paid.
 */
export class CheckoutBook {
  readonly #record: CheckoutRecord;

  private constructor(
    readonly intent: CheckoutIntent,
    readonly policy: CheckoutPolicy,
    record: CheckoutRecord,
  ) {
    this.#record = record;
  }

  /** The customer's time began with the request, however late the first task came. */
  static open(intent: CheckoutIntent, policy: CheckoutPolicy, now: Instant): CheckoutBook {
    const asked = instant(Math.min(parseInstant(intent.created_at), now));
    const book = new CheckoutBook(intent, policy, {
      attempt: {
        number: 1,
        sourceId: intent.source,
        chargeId: null,
        status: 'pending',
        failureCode: null,
        failureMessage: null,
        createdAt: formatInstant(now),
        expiresAt: formatInstant(plus(asked, intent.expires_in * 1_000)),
        qr: null,
      },
      paidAt: null,
      cancelRequested: false,
      endedAt: null,
      reported: 'creating',
      answeredAt: formatInstant(now),
      closingSince: null,
      attentions: [],
      timeline: [],
    });
    book.note(now, 'opened');
    return book;
  }

  static resume(intent: CheckoutIntent, policy: CheckoutPolicy, record: CheckoutRecord): CheckoutBook {
    return new CheckoutBook(intent, policy, record);
  }

  get record(): Readonly<CheckoutRecord> {
    return this.#record;
  }

  get attempt(): Readonly<Attempt> {
    return this.#record.attempt;
  }

  get timeline(): readonly TimelineEntry[] {
    return this.#record.timeline;
  }

  get cancelRequested(): boolean {
    return this.#record.cancelRequested;
  }

  get expiresAt(): Instant {
    return parseInstant(this.attempt.expiresAt);
  }

  get isPaid(): boolean {
    return this.attempt.status === 'successful';
  }

  /** Every charge was seen final, or there never was one and will be none. */
  get isEnded(): boolean {
    return isFinalCharge(this.attempt.status);
  }

  /** When the last charge was seen final; the instant the attempt was made while it is not. */
  get endedAt(): Instant {
    return parseInstant(this.#record.endedAt ?? this.attempt.createdAt);
  }

  /** The world was told the present status. */
  get isReported(): boolean {
    return this.#record.reported === this.status;
  }

  /** The customer can pay, or never will: what `begin` waits for. */
  get isAnswered(): boolean {
    return this.isEnded || this.attempt.chargeId !== null;
  }

  get status(): CheckoutStatus {
    const { attempt, cancelRequested } = this.#record;
    switch (attempt.status) {
      case 'successful':
        return 'paid';
      case 'pending':
        return attempt.chargeId === null ? 'creating' : 'awaiting_payment';
      case 'failed':
        return cancelRequested ? 'cancelled' : 'failed';
      case 'expired':
        return cancelRequested ? 'cancelled' : 'expired';
    }
  }

  state(now: Instant): CheckoutState {
    const { attempt, paidAt, cancelRequested } = this.#record;
    const attention = this.#attention();
    const paid = paidAt === null ? null : parseInstant(paidAt);
    const voidable = paid === null ? null : voidableUntil(paid, voidRule(this.policy.voidDateOffsetMinutes));
    const payable =
      attempt.status === 'pending' &&
      attempt.qr !== null &&
      now < this.expiresAt &&
      !cancelRequested &&
      !this.#isDoubtful();
    return {
      status: this.status,
      attempts: [toAttemptView(attempt)],
      qr:
        payable && attempt.qr !== null
          ? { download_uri: attempt.qr.downloadUri, raw_data: attempt.qr.rawData, expires_at: attempt.expiresAt }
          : null,
      paid_at: paidAt,
      refunded_amount: 0,
      voidable_until: voidable === null ? null : formatInstant(voidable),
      refundable_until: paid === null ? null : formatInstant(refundableUntil(paid)),
      attention,
      updated_at: formatInstant(now),
    };
  }

  sourceCreated(now: Instant, sourceId: string): void {
    this.#record.attempt.sourceId = sourceId;
    this.note(now, 'source_created', sourceId);
  }

  /** The provider refused: nothing was charged and nothing will be. */
  refused(now: Instant, code: string, message: string): void {
    const { attempt } = this.#record;
    attempt.status = 'failed';
    attempt.failureCode = code;
    attempt.failureMessage = message;
    this.#record.endedAt = formatInstant(now);
    this.note(now, 'refused', `${code}: ${message}`);
  }

  /** No charge was ever made, and none will be: cancelled or out of time before the provider took it. */
  abandoned(now: Instant, why: string): void {
    this.#record.attempt.status = 'expired';
    this.#record.endedAt = formatInstant(now);
    this.note(now, this.cancelRequested ? 'cancelled' : 'expired', why);
  }

  requestCancel(now: Instant): void {
    // An end that was reported stays what it was reported as.
    if (this.#record.cancelRequested || this.isEnded) return;
    this.#record.cancelRequested = true;
    this.note(now, 'cancel_requested');
  }

  /**
   * Applies what a retrieved charge says, by rank: late, repeated and reordered news change nothing.
   * A charge that is not the one we asked for is not believed, whatever its status.
   * @returns whether anything changed.
   */
  apply(now: Instant, facts: ChargeFacts): boolean {
    const mismatch = this.#mismatch(facts);
    if (mismatch !== null) {
      this.raise(now, 'integrity_mismatch', mismatch);
      return false;
    }
    this.settle('integrity_mismatch');
    const adopted = this.#adopt(now, facts);
    const seen = this.#read(now, facts);
    if (seen === null) return adopted;
    const { attempt } = this.#record;
    const status = applyChargeStatus(attempt.status, seen);
    if (status === attempt.status) return adopted;
    attempt.status = status;
    this.#record.endedAt = formatInstant(now);
    attempt.failureCode = status === 'successful' ? null : facts.failureCode;
    attempt.failureMessage = status === 'successful' ? null : facts.failureMessage;
    if (status === 'successful') this.#paid(now, facts);
    else this.note(now, this.status, facts.failureCode ?? undefined);
    return true;
  }

  raise(now: Instant, code: AttentionCode, detail: string): void {
    const { attentions } = this.#record;
    if (attentions.some((attention) => attention.code === code)) return;
    attentions.push({ code, since: formatInstant(now), detail });
    this.note(now, 'attention', `${code}: ${detail}`);
  }

  settle(...codes: AttentionCode[]): void {
    this.#record.attentions = this.#record.attentions.filter(({ code }) => !codes.includes(code));
  }

  /** The provider answered a look. */
  answered(now: Instant): void {
    this.#record.answeredAt = formatInstant(now);
    this.settle('provider_unreachable');
  }

  /** The provider was asked to let the charge go. */
  closing(now: Instant): void {
    this.#record.closingSince ??= formatInstant(now);
  }

  /** What has gone on for too long is shown to operators; it is never turned into a failure. */
  attendTo(now: Instant): void {
    const { answeredAt, closingSince } = this.#record;
    const isLong = (since: string): boolean => now - parseInstant(since) >= this.policy.attentionAfterMs;
    if (isLong(answeredAt)) {
      this.raise(now, 'provider_unreachable', 'the provider does not answer when asked for the charge');
    }
    if (!this.isEnded && closingSince !== null && isLong(closingSince)) {
      this.raise(now, 'expire_refused', 'the provider keeps the charge pending: a customer may be confirming');
    }
  }

  /** What the world has now been told. */
  wasReported(): void {
    this.#record.reported = this.status;
  }

  note(now: Instant, what: string, detail?: string): void {
    const { timeline } = this.#record;
    timeline.push(detail === undefined ? { at: formatInstant(now), what } : { at: formatInstant(now), what, detail });
    if (timeline.length > TIMELINE_LIMIT) timeline.splice(TIMELINE_LIMIT / 2, 1);
  }

  #attention(): Attention | null {
    const { attentions } = this.#record;
    const first = ATTENTION_ORDER.find((code) => attentions.some((attention) => attention.code === code));
    return attentions.find(({ code }) => code === first) ?? null;
  }

  /** The provider says something about the charge that is not understood: no one should pay it now. */
  #isDoubtful(): boolean {
    return this.#record.attentions.some(({ code }) => code === 'integrity_mismatch' || code === 'unknown_status');
  }

  #mismatch(facts: ChargeFacts): string | null {
    const { intent, attempt } = this;
    if (facts.checkoutId !== intent.id)
      return `charge ${facts.chargeId} belongs to ${facts.checkoutId ?? 'no checkout'}`;
    if (facts.attempt !== null && facts.attempt !== String(attempt.number)) {
      return `charge ${facts.chargeId} belongs to attempt ${facts.attempt}`;
    }
    if (facts.isOtherMode) return `charge ${facts.chargeId} is not of our key's mode`;
    if (facts.amount !== intent.amount) return `charge ${facts.chargeId} is over ${facts.amount}, not ${intent.amount}`;
    if (facts.currency !== intent.currency) {
      return `charge ${facts.chargeId} is in ${facts.currency}, not ${intent.currency}`;
    }
    if (attempt.chargeId !== null && attempt.chargeId !== facts.chargeId) {
      return `asked for charge ${attempt.chargeId}, was shown ${facts.chargeId}`;
    }
    if (attempt.sourceId !== null && facts.sourceId !== null && attempt.sourceId !== facts.sourceId) {
      return `charge ${facts.chargeId} uses source ${facts.sourceId}, not ${attempt.sourceId}`;
    }
    return null;
  }

  #adopt(now: Instant, facts: ChargeFacts): boolean {
    const { attempt } = this.#record;
    attempt.qr ??= facts.qr;
    if (attempt.chargeId !== null) return false;
    attempt.chargeId = facts.chargeId;
    this.note(now, 'charge_created', facts.chargeId);
    return true;
  }

  /** The charge's status, or null when this version does not know it: a person is told, nothing is guessed. */
  #read(now: Instant, facts: ChargeFacts): ChargeStatus | null {
    const seen = chargeStatus(facts.status);
    if (seen === null) {
      this.raise(now, 'unknown_status', `charge ${facts.chargeId} is ${facts.status}`);
      return null;
    }
    this.settle('unknown_status');
    return seen === 'failed' && facts.failureCode === 'payment_expired' ? 'expired' : seen;
  }

  #paid(now: Instant, facts: ChargeFacts): void {
    const { reported } = this.#record;
    this.#record.paidAt = formatInstant(this.#paidAt(now, facts));
    this.#record.attentions = [];
    this.note(now, 'paid', facts.chargeId);
    if (!isAwaitingPayment(reported)) this.raise(now, 'late_payment', `paid after it was reported as ${reported}`);
  }

  #paidAt(now: Instant, { paidAt }: ChargeFacts): Instant {
    const told = paidAt === null ? now : parseInstant(paidAt);
    const earliest = parseInstant(this.attempt.createdAt) - PLAUSIBLE_MS;
    return told >= earliest && told <= now + PLAUSIBLE_MS ? told : now;
  }
}

function toAttemptView(attempt: Attempt): AttemptView {
  return {
    number: attempt.number,
    source_id: attempt.sourceId,
    charge_id: attempt.chargeId,
    status: attempt.status,
    failure_code: attempt.failureCode,
    failure_message: attempt.failureMessage,
    created_at: attempt.createdAt,
    expires_at: attempt.expiresAt,
  };
}
