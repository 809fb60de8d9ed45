import { Injectable } from '@nestjs/common';
import { formatInstant, formatMoney, instant, isPaid, parseInstant, refundableUntil } from '@tillflow/domain';
import type { Asked, StoredCheckout } from '@tillflow/temporal';
import type { RefundRequest } from '@tillflow/workflows';
import { timeBeforeFollowUp } from '../admission/request-budget.js';
import { Problem } from '../problems/problem.js';
import { keyOf } from './checkout-key.js';
import { CheckoutsRepository } from './checkouts.repository.js';
import { InFlight } from './in-flight.js';
import type { CreateRefund, RefundReply, RefundsReply } from './refunds.schema.js';
import { refusal } from './temporal-failures.js';

export type AskedRefund = { readonly refund: RefundReply; readonly status: 200 | 201 | 202 };

type Asking = { readonly isKnown: boolean; readonly asked: Asked<RefundReply> };

/** Money given back: one refund for each key, however often it is asked for. */
@Injectable()
export class RefundsService {
  readonly #asking = new InFlight<Asking>();

  constructor(private readonly repository: CheckoutsRepository) {}

  /**
   * The refund of this key: 201 for a new one that the provider has decided, 200 for one that was asked for before,
   * 202 while its outcome is not known.
   * @throws {Problem} `not_found`, `not_paid`, `refund_window_closed`, `refund_exceeds_paid`, `idempotency_conflict`,
   * `too_many_refunds`.
   */
  async create(id: string, idempotencyKey: string, { amount, reason }: CreateRefund): Promise<AskedRefund> {
    const request: RefundRequest = { key: idempotencyKey, amount: amount ?? null, reason: reason ?? null };
    const { answer, first } = await this.#asking.join(JSON.stringify([id, request]), () => this.#ask(id, request));
    const { isKnown, asked } = answer;
    if (asked.kind === 'refused') throw refusal(asked);
    const refund = asked.kind === 'answered' ? asked.answer : await this.#withoutAnswer(id, request, asked.kind);
    if (refund.status === 'pending') return { refund, status: 202 };
    return { refund, status: first && !isKnown ? 201 : 200 };
  }

  async list(id: string): Promise<RefundsReply> {
    const { refunds } = await this.repository.get(keyOf(id));
    return { data: [...refunds], next_cursor: null };
  }

  async #ask(id: string, request: RefundRequest): Promise<Asking> {
    const key = keyOf(id);
    const before = await this.repository.get(key);
    const asked = await this.repository.refund(key, request, timeBeforeFollowUp());
    return { isKnown: written(before, request) !== undefined, asked };
  }

  /** What the memo says of the request; nothing yet, while the checkout is open: it is pending. */
  async #withoutAnswer(id: string, request: RefundRequest, kind: 'undecided' | 'closed'): Promise<RefundReply> {
    const stored = await this.repository.get(keyOf(id));
    const found = written(stored, request);
    if (found !== undefined && request.amount !== null && request.amount !== found.amount) {
      const money = formatMoney({ amount: found.amount, currency: found.currency });
      throw new Problem('idempotency_conflict', `The key ${request.key} is a refund of ${money}`);
    }
    if (found !== undefined) return found;
    if (kind === 'closed') throw closed(stored);
    return expected(stored, request);
  }
}

function written({ refunds }: StoredCheckout, { key }: RefundRequest) {
  return refunds.find((refund) => refund.key === key);
}

function closed({ state }: StoredCheckout): Problem {
  if (!isPaid(state.status)) return new Problem('not_paid', `The checkout is ${state.status} and has closed`);
  // The closed checkout itself shows no window any more.
  const until =
    state.paid_at === null ? 'an unknown time' : formatInstant(refundableUntil(parseInstant(state.paid_at)));
  return new Problem('refund_window_closed', `The checkout has closed: it could be refunded until ${until}`);
}

/** A refund that the workflow has not written down yet, as far as the request and the checkout tell. */
function expected({ intent, state, refunds }: StoredCheckout, request: RefundRequest): RefundReply {
  const now = Date.now();
  const underWay = refunds.filter(({ status }) => status === 'pending').reduce((sum, { amount }) => sum + amount, 0);
  const left = intent.amount - state.refunded_amount - underWay;
  const amount = request.amount ?? left;
  const voidable = state.voidable_until !== null && now < Date.parse(state.voidable_until);
  const charge = state.attempts.find(({ status }) => status === 'successful') ?? state.attempts.at(-1);
  return {
    id: null,
    key: request.key,
    charge_id: charge?.charge_id ?? null,
    amount,
    currency: intent.currency,
    kind: voidable && amount === intent.amount && left === intent.amount ? 'void' : 'refund',
    status: 'pending',
    reason: request.reason,
    failure_code: null,
    failure_message: null,
    created_at: formatInstant(instant(now)),
  };
}
