import {
  describeRefusal,
  formatMoney,
  instant,
  isVoidable,
  leftToRefund,
  OWN_KEY_PREFIX,
  plus,
  refundKind,
  refuseNewRefund,
  refuseRepetition,
  voidRule,
  type Instant,
  type RefundablePayment,
  type RefundRefusal,
} from '@tillflow/domain';
import type { RefundFacts } from '../../activities.js';
import type { RefundRequest, Refused } from '../../messages.js';
import { lookupDelay } from '../../../shared/policy.js';
import { askerOf } from '../../../shared/requester.js';
import type { Charge } from '../charges/polling.js';
import type { ModelContext } from '../context.js';

/** A refused return is tried again at this index of the lookup delays: after 1 h, then daily. */
const RETURN_AGAIN = 4;

/** One refund or void. Amounts are in the smallest currency unit, instants in milliseconds since 1970 (UTC). */
export type RefundEntry = {
  key: string;
  chargeId: string;
  amount: number;
  /** The amount that was requested; null: all that was left. */
  asked: number | null;
  kind: 'void' | 'refund';
  status: 'pending' | 'succeeded' | 'rejected';
  /** The provider's id; null until it is known. */
  id: string | null;
  /** `tillflow`: a late or second payment that Tillflow returns. `elsewhere`: made in the provider's dashboard. */
  by: 'caller' | 'tillflow' | 'elsewhere';
  /** As `Attributed` spells it. Absent: not known. */
  requestedBy?: string | undefined;
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
type Requested = Pick<RefundEntry, 'key' | 'asked' | 'amount' | 'by' | 'requestedBy' | 'nonce' | 'reason'>;
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

  /** Adds a refund that {@link refuse} accepts. The same key again changes nothing. */
  request(now: Instant, accepted: Paid | null, request: RefundRequest): void {
    const { key, amount, reason, nonce } = request;
    if (accepted === null || this.#get(key) !== undefined) return;
    const whole = amount ?? this.left(now, accepted);
    const requestedBy = askerOf(request);
    this.#add(now, accepted, { key, asked: amount, amount: whole, by: 'caller', requestedBy, nonce, reason });
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

  /** The retrieved charge decides the amount and the kind just before the refund is sent. */
  decide(key: string, amount: number, kind: RefundEntry['kind']): void {
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
    const { intent, policy, timeline, attentions } = this.context;
    const entry = this.#get(key);
    if (entry === undefined) return;
    entry.status = 'rejected';
    entry.failureCode = code;
    entry.failureMessage = message;
    timeline.note(now, 'refund_rejected', `${key}: ${code}`);
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
    this.context.timeline.note(now, 'refund_requested', `${key}: again`, by);
  }

  setInFlightUntil(key: string, until: number): void {
    this.#change(key, { inFlightUntil: until });
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
    const more = { chargeId: charge.id, kind, status: 'pending', id: null, createdAt: now } as const;
    this.entries.push({ ...requested, ...more, ...NOT_REFUSED });
    const why = requested.by === 'tillflow' ? `, ${requested.reason ?? ''}` : '';
    timeline.note(now, 'refund_requested', `${this.#money(requested.amount)}${why}`, requested.requestedBy);
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

/**
 * Its money may still be returned: the refund is not decided, or an operator gave it up while the call was in flight.
 */
function isPending({ status, inFlightUntil }: Readonly<RefundEntry>, now: Instant): boolean {
  return status === 'pending' || (status === 'rejected' && inFlightUntil !== null && now < inFlightUntil);
}
