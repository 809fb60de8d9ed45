import {
  describeRefusal,
  formatMoney,
  instant,
  isVoidable,
  leftToRefund,
  OWN_KEY_PREFIX,
  plus,
  refundableUntil,
  refundKind,
  refuseNewRefund,
  refuseRepetition,
  voidRule,
  type Instant,
  type RefundablePayment,
  type RefundRefusal,
} from '@tillflow/domain';
import type { RefundFacts } from '../../activities.js';
import type { RefundDecision, RefundRequest, Refused } from '../../messages.js';
import { lookupDelay } from '../../../shared/policy.js';
import { askerOf, requesterOf, type Attributed } from '../../../shared/requester.js';
import { isDecidedAs, NOT_APPROVED } from '../../types.js';
import type { Charge } from '../charges/polling.js';
import type { ModelContext } from '../context.js';
import type { Due } from '../schedule.js';

/** A refused return is tried again at this index of the lookup delays: after 1 h, then daily. */
const RETURN_AGAIN = 4;

/** How long a refund waits for a second person, in milliseconds. */
const APPROVE_WITHIN_MS = 24 * 3_600_000;

/** One refund or void. Amounts are in the smallest currency unit, instants in milliseconds since 1970 (UTC). */
export type RefundEntry = {
  key: string;
  chargeId: string;
  amount: number;
  /** The amount that was requested; null: all that was left. */
  asked: number | null;
  kind: 'void' | 'refund';
  status: 'pending' | 'needs_approval' | 'succeeded' | 'rejected';
  /** The provider's id; null until it is known. */
  id: string | null;
  /** `tillflow`: a late or second payment that Tillflow returns. `elsewhere`: made in the provider's dashboard. */
  by: 'caller' | 'tillflow' | 'elsewhere';
  /** As `Attributed` spells it. Absent: not known. */
  requestedBy?: string | undefined;
  /** The second person who let it go ahead, as `Attributed` spells it. */
  approvedBy?: string | undefined;
  /** While it needs approval: it is rejected at this time. */
  approvalUntil?: number | undefined;
  /** `RefundRequest.nonce` of the request that opened it. */
  nonce?: string | undefined;
  reason: string | null;
  failureCode: string | null;
  failureMessage: string | null;
  createdAt: number;
  /** Of a return: how often the provider refused it, and when it is tried again. */
  refusals: number;
  retryAt: number | null;
  /** Set when a refund is abandoned while its outcome is unknown: the refund can take no effect after this. */
  inFlightUntil: number | null;
};

type Paid = Pick<Charge, 'id' | 'refunded' | 'paidAt'>;
type Requested = Pick<RefundEntry, 'key' | 'asked' | 'amount' | 'by' | 'requestedBy' | 'nonce' | 'reason'> & {
  /** The sum of the requester's refunds is above its limit. */
  readonly isAboveLimit?: boolean;
  /** From where it was requested, as `Attributed` says. */
  readonly origin?: string | undefined;
};
type Failure = { readonly code: string; readonly message: string };

/** Every refund of the checkout's charges. The returned and the pending amounts together never exceed the payment. */
export class Refunds {
  constructor(
    private readonly context: ModelContext,
    private readonly entries: RefundEntry[],
  ) {}

  get all(): readonly Readonly<RefundEntry>[] {
    return this.entries;
  }

  find(key: string): Readonly<RefundEntry> | undefined {
    return this.#get(key);
  }

  /**
   * @returns why this refund of the accepted payment is refused; null when it is possible, or when it repeats the
   *   refund with this key.
   */
  refuse(now: Instant, accepted: Paid | null, { key, amount }: RefundRequest): Refused | null {
    const known = this.#get(key);
    if (known !== undefined) return this.#described(refuseRepetition(known, amount));
    if (key === '' || key.startsWith(OWN_KEY_PREFIX)) {
      return {
        code: 'invalid_refund',
        message: `The key must have at least one character and must not begin with ${OWN_KEY_PREFIX}`,
      };
    }
    if (amount !== null && (!Number.isSafeInteger(amount) || amount <= 0)) {
      return {
        code: 'invalid_refund',
        message: 'The amount must be a whole number above zero, in the smallest currency unit',
      };
    }
    return this.#described(refuseNewRefund(this.#paymentOf(accepted, now), this.entries.length, amount, now));
  }

  /** What can still be returned of this charge's payment, in the smallest currency unit. */
  left(now: Instant, charge: Paid): number {
    return leftToRefund(this.#paymentOf(charge, now));
  }

  /**
   * Adds a refund that {@link refuse} accepts. The same key again changes nothing.
   * @param limit the sum that the requester may refund of this checkout without a second person, in the smallest currency
   *   unit; null: no limit
   */
  request(now: Instant, accepted: Paid | null, request: RefundRequest, limit: number | null): void {
    const { key, amount: asked, reason, nonce } = request;
    if (accepted === null || this.#get(key) !== undefined) return;
    const amount = asked ?? this.left(now, accepted);
    const { by: requestedBy, origin } = requesterOf(request);
    const isAboveLimit = limit !== null && this.#refundedBy(requestedBy) + amount > limit;
    this.#add(now, accepted, { key, asked, amount, by: 'caller', requestedBy, origin, nonce, reason, isAboveLimit });
  }

  /** @returns why this decision is refused; null when it is possible, or when it was made before. */
  refuseDecision(now: Instant, decision: RefundDecision, mayApprove: boolean): Refused | null {
    if (!isDecision(decision))
      return { code: 'invalid_refund', message: 'A decision names a key, and approve or reject' };
    const { key } = decision;
    const entry = this.#get(key);
    if (entry === undefined) return { code: 'refund_unknown', message: `No refund has the key ${key}` };
    const by = askerOf(decision);
    if (!mayApprove) return { code: 'may_not_approve', message: `${by ?? 'The requester'} may not approve refunds` };
    if (by === undefined || by === entry.requestedBy) {
      return {
        code: 'second_person_required',
        message: 'Another key than the one that asked for the refund must decide',
      };
    }
    const { approvedBy, failureCode } = entry;
    const made = { approved_by: approvedBy, failure_code: failureCode };
    if (isWaiting(entry, now) || isDecidedAs(made, decision.decision)) return null;
    return { code: 'refund_decided', message: `The refund does not wait for approval: it is ${entry.status}` };
  }

  /** Carries out a decision that {@link refuseDecision} accepts. The same decision again changes nothing. */
  decide(now: Instant, decision: RefundDecision): void {
    const { key, reason } = decision;
    const entry = this.#get(key);
    if (entry?.status !== 'needs_approval') return;
    const requester = requesterOf(decision);
    const { by } = requester;
    // A message that is sent by hand may have no reason.
    const why = (reason ?? '') === '' ? '' : `: ${reason}`;
    if (decision.decision === 'approve') {
      this.#endApproval(entry, 'pending');
      entry.approvedBy = by;
      this.context.timeline.note(now, 'refund_approved', `${key}${why}`, requester);
    } else {
      this.#endApproval(entry, 'rejected');
      this.#fail(
        now,
        entry,
        { code: NOT_APPROVED, message: `${by ?? 'A person'} did not approve it${why}` },
        requester,
      );
    }
  }

  /** Shows the refunds that wait for approval to people, and rejects those that have waited too long. */
  advanceTo(now: Instant): void {
    for (const entry of this.entries) {
      if (entry.status !== 'needs_approval') continue;
      const { key, amount, requestedBy = 'an unknown requester' } = entry;
      if (isWaiting(entry, now)) {
        const detail = `${requestedBy} asks for a refund of ${this.#money(amount)}, which needs the approval of another key: ${key}`;
        this.context.attentions.raise(now, 'approval_needed', detail, key);
        continue;
      }
      this.#endApproval(entry, 'rejected');
      this.#fail(now, entry, { code: 'approval_expired', message: 'No second person approved it in time' });
    }
  }

  /** When refunds that wait for approval are rejected. */
  due(): Due[] {
    return this.entries.flatMap(({ status, approvalUntil }): Due[] =>
      status === 'needs_approval' && approvalUntil !== undefined
        ? [{ at: instant(approvalUntil), why: 'then reject a refund that was not approved' }]
        : [],
    );
  }

  /** Returns a payment that Tillflow does not accept. @param amount in the smallest currency unit. */
  addReturn(now: Instant, charge: Paid, amount: number, requestedBy: string, reason: string): void {
    const key = `${OWN_KEY_PREFIX}${charge.id}`;
    this.#add(now, charge, { key, asked: amount, amount, by: 'tillflow', requestedBy, reason });
  }

  /** The provider lists a refund that Tillflow did not make. */
  addElsewhere(now: Instant, chargeId: string, { refundId, amount, isVoid }: RefundFacts): void {
    this.entries.push({
      key: refundId,
      chargeId,
      amount,
      asked: amount,
      kind: isVoid ? 'void' : 'refund',
      status: 'succeeded',
      id: refundId,
      by: 'elsewhere',
      reason: 'made elsewhere',
      createdAt: now,
      ...NOT_REFUSED,
    });
    this.context.timeline.note(now, 'refunded_elsewhere', `${this.#money(amount)}, ${refundId}`);
  }

  /** It turned out to be a refund of Tillflow's. */
  removeElsewhere(id: string): void {
    const index = this.entries.findIndex((entry) => entry.id === id && entry.by === 'elsewhere');
    if (index !== -1) this.entries.splice(index, 1);
  }

  /** The retrieved charge determines the amount and the kind just before the refund is sent. */
  determine(key: string, amount: number, kind: RefundEntry['kind']): void {
    this.#change(key, { amount, kind });
  }

  succeed(now: Instant, key: string, { refundId, isVoid }: RefundFacts): void {
    const entry = this.#get(key);
    if (entry === undefined) return;
    entry.id = refundId;
    entry.status = 'succeeded';
    entry.kind = isVoid ? 'void' : 'refund';
    this.context.timeline.note(now, isVoid ? 'voided' : 'refunded', `${this.#money(entry.amount)}, ${refundId}`);
  }

  /** The provider refused the void. A refund takes its place, and shows why. */
  voidRefused(now: Instant, key: string, { code, message }: Failure): void {
    this.#change(key, { failureCode: code, failureMessage: message });
    this.context.timeline.note(now, 'void_refused', `${code}: a refund takes its place`);
  }

  /** A refused return is tried again until the refund window closes, and operators see it. */
  reject(now: Instant, key: string, charge: Paid | undefined, { code, message }: Failure): void {
    const { intent, policy, attentions } = this.context;
    const entry = this.#get(key);
    if (entry === undefined) return;
    this.#fail(now, entry, { code, message });
    const isLeft = charge !== undefined && returnedAmount(this.entries, charge) < intent.amount;
    if (entry.by !== 'tillflow' || !isLeft) return;
    const isOpen = code !== 'refund_window_closed';
    entry.retryAt = isOpen ? plus(now, lookupDelay(policy, RETURN_AGAIN + entry.refusals)) : null;
    entry.refusals += 1;
    const what = `${this.#money(entry.amount)} of ${entry.chargeId}: ${code}, ${message}`;
    attentions.raise(now, 'return_refused', what, entry.chargeId);
  }

  /** @param amount the rest of the payment, in the smallest currency unit. */
  retryReturn(now: Instant, key: string, amount: number, by: string | undefined): void {
    this.#change(key, { amount, status: 'pending', retryAt: null });
    this.context.timeline.note(now, 'refund_requested', `${key}: again`, { by });
  }

  setInFlightUntil(key: string, until: number): void {
    this.#change(key, { inFlightUntil: until });
  }

  #endApproval(entry: RefundEntry, status: 'pending' | 'rejected'): void {
    entry.status = status;
    delete entry.approvalUntil;
    this.context.attentions.settle('approval_needed', entry.key);
  }

  #fail(now: Instant, entry: RefundEntry, { code, message }: Failure, requester?: Attributed): void {
    Object.assign(entry, { status: 'rejected', failureCode: code, failureMessage: message } as const);
    this.context.timeline.note(now, 'refund_rejected', `${entry.key}: ${code}`, requester);
  }

  /**
   * What one requester has refunded, is refunding, or may have refunded: an abandoned refund can show later that it took
   * effect. What waits for approval does not count yet.
   */
  #refundedBy(requestedBy: string | undefined): number {
    return this.entries
      .filter((entry) => entry.by === 'caller' && entry.requestedBy === requestedBy)
      .filter(({ status, inFlightUntil }) => status === 'succeeded' || status === 'pending' || inFlightUntil !== null)
      .reduce((sum, { amount }) => sum + amount, 0);
  }

  #get(key: string): RefundEntry | undefined {
    return this.entries.find((entry) => entry.key === key);
  }

  #change(key: string, change: Partial<RefundEntry>): void {
    const entry = this.#get(key);
    if (entry !== undefined) Object.assign(entry, change);
  }

  #paymentOf(charge: Paid | null, now: Instant): RefundablePayment {
    if (charge === null || charge.paidAt === null) return { paid: 0, returned: 0, pending: 0, paidAt: null };
    return {
      paid: this.context.intent.amount,
      returned: returnedAmount(this.entries, charge),
      pending: sumOf(this.entries, charge.id, (entry) => isPending(entry, now)),
      paidAt: instant(charge.paidAt),
    };
  }

  #add(now: Instant, charge: Paid, requested: Requested): void {
    const { intent, policy, timeline } = this.context;
    const payment = { paid: intent.amount, returned: returnedAmount(this.entries, charge) };
    const canVoid = isVoidable(instant(charge.paidAt ?? now), now, voidRule(policy.voidDateOffsetMinutes));
    const kind = refundKind(payment, requested.amount, canVoid);
    const { isAboveLimit = false, origin, ...asked } = requested;
    const approval = isAboveLimit
      ? ({ status: 'needs_approval', approvalUntil: this.#approvalUntil(now, charge) } as const)
      : ({ status: 'pending' } as const);
    this.entries.push({ ...asked, ...approval, chargeId: charge.id, kind, id: null, createdAt: now, ...NOT_REFUSED });
    const why = asked.by === 'tillflow' ? `, ${asked.reason ?? ''}` : isAboveLimit ? ', needs approval' : '';
    timeline.note(now, 'refund_requested', `${this.#money(asked.amount)}${why}`, { by: asked.requestedBy, origin });
  }

  /** After the refund window, an approval would come too late. */
  #approvalUntil(now: Instant, { paidAt }: Paid): number {
    return Math.min(now + APPROVE_WITHIN_MS, refundableUntil(instant(paidAt ?? now)));
  }

  #described(refusal: RefundRefusal | null): Refused | null {
    if (refusal === null) return null;
    return { code: refusal.code, message: describeRefusal(refusal, this.context.intent.currency) };
  }

  #money(amount: number): string {
    return formatMoney({ amount, currency: this.context.intent.currency });
  }
}

const NOT_REFUSED = {
  failureCode: null,
  failureMessage: null,
  refusals: 0,
  retryAt: null,
  inFlightUntil: null,
} as const;

function sumOf(
  entries: readonly Readonly<RefundEntry>[],
  chargeId: string,
  isCounted: (entry: Readonly<RefundEntry>) => boolean,
): number {
  return entries
    .filter((entry) => entry.chargeId === chargeId && isCounted(entry))
    .reduce((sum, { amount }) => sum + amount, 0);
}

/** The provider's figure or the sum of the succeeded refunds, whichever is more; smallest currency unit. */
export function returnedAmount(
  entries: readonly Readonly<RefundEntry>[],
  { id, refunded }: Pick<Charge, 'id' | 'refunded'>,
): number {
  return Math.max(refunded, succeededAmount(entries, id));
}

/** In the smallest currency unit. */
export function succeededAmount(entries: readonly Readonly<RefundEntry>[], chargeId: string): number {
  return sumOf(entries, chargeId, ({ status }) => status === 'succeeded');
}

/** A second person can still approve or reject it. */
function isWaiting({ status, approvalUntil = 0 }: Readonly<RefundEntry>, now: Instant): boolean {
  return status === 'needs_approval' && now < approvalUntil;
}

/** A message that is sent by hand can contain anything, or nothing. */
function isDecision(given: unknown): given is RefundDecision {
  if (typeof given !== 'object' || given === null) return false;
  const { key, decision, reason = null } = given as Partial<Record<keyof RefundDecision, unknown>>;
  const isReason = reason === null || typeof reason === 'string';
  return typeof key === 'string' && (decision === 'approve' || decision === 'reject') && isReason;
}

/**
 * Its money may still be returned: the refund is not decided, or an operator gave it up while the call was in flight.
 */
function isPending({ status, inFlightUntil }: Readonly<RefundEntry>, now: Instant): boolean {
  const isOpen = status === 'pending' || status === 'needs_approval';
  return isOpen || (status === 'rejected' && inFlightUntil !== null && now < inFlightUntil);
}
