import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import {
  describeRefusal,
  formatInstant,
  instant,
  isPaid,
  leftToRefund,
  parseInstant,
  refundableUntil,
  refuseNewRefund,
  refuseRepetition,
  type Currency,
  type RefundRefusal,
} from '@tillflow/domain';
import type { RequestResult, StoredCheckout } from '@tillflow/temporal';
import {
  acceptedChargeOf,
  expectedKind,
  refundablePayment,
  toRefund,
  type RefundRequest,
  type StoredRefund,
} from '@tillflow/workflows';
import { timeBeforeFollowUp } from '../temporal/request-budget.js';
import type { Asker } from '../auth/caller.js';
import { Problem } from '../problems/problem.js';
import { CheckoutsRepository, keyOf } from './checkouts.repository.js';
import { InFlight } from '../shared/in-flight.js';
import { waitingLocation } from './presenter.js';
import type { CreateRefund, RefundReply, RefundsReply } from './refunds.schema.js';
import { afterWrite, refusal } from '../temporal/failures.js';

export type AskedRefund =
  | { readonly refund: RefundReply; readonly status: 200 | 201 }
  /** The checkout changes, and `location` answers, when the outcome is known. */
  | { readonly refund: RefundReply; readonly status: 202; readonly location: string };

/** A refund, and the nonce of the request that created it, if known. */
type Shown = {
  readonly refund: RefundReply;
  readonly requestNonce?: string | undefined;
  /** A version of the checkout that shows the refund like this. Any change after it is news to the caller. */
  readonly version: number;
};

type Asking = { readonly nonce: string; readonly asked: RequestResult<StoredRefund> };

/** Refunds: one for each key, however often it is requested. */
@Injectable()
export class RefundsService {
  readonly #asking = new InFlight<Asking>();

  constructor(private readonly repository: CheckoutsRepository) {}

  /**
   * The refund with this key: 201 for the request that created it, once the provider has decided; 200 for every other
   * request; 202 while the outcome is not known.
   * @throws {Problem} `not_found`, `not_paid`, `refund_window_closed`, `refund_exceeds_paid`, `idempotency_conflict`,
   * `too_many_refunds`.
   */
  async create(id: string, idempotencyKey: string, body: CreateRefund, { by }: Asker): Promise<AskedRefund> {
    const { amount = null, reason = null } = body;
    const request: RefundRequest = { key: idempotencyKey, amount, reason, by };
    // A workflow accepts ten updates at a time, so equal requests at the same time share one.
    const { answer, first } = await this.#asking.join(JSON.stringify([id, request]), () => this.#ask(id, request));
    const { nonce, asked } = answer;
    if (asked.kind === 'refused') throw refusal(asked);
    const { refund, requestNonce, version } =
      asked.kind === 'answered'
        ? await this.#answered(id, asked.answer)
        : await this.#withoutAnswer(id, request, asked.kind);
    if (refund.status === 'pending') return { refund, status: 202, location: waitingLocation(id, version) };
    return { refund, status: first && requestNonce === nonce ? 201 : 200 };
  }

  async list(id: string): Promise<RefundsReply> {
    const { refunds } = await this.repository.get(keyOf(id));
    return { data: refunds.map(toRefund), next_cursor: null };
  }

  /**
   * The workflow's answer, or the memo where the answer is pending: the refund may have been decided since, and
   * `location` must not wait for a change that has already happened.
   */
  async #answered(id: string, answer: StoredRefund): Promise<Shown> {
    if (answer.status !== 'pending') return shown(answer, DECIDED);
    try {
      const { refunds, version } = await this.repository.get(keyOf(id));
      return shown(refunds.find(({ key }) => key === answer.key) ?? answer, version);
    } catch {
      // Temporal does not answer. A location that names version 0 answers at once.
      return shown(answer, 0);
    }
  }

  async #ask(id: string, request: RefundRequest): Promise<Asking> {
    const nonce = randomBytes(NONCE_BYTES).toString('base64url');
    return { nonce, asked: await this.repository.refund(keyOf(id), { ...request, nonce }, timeBeforeFollowUp()) };
  }

  /**
   * The refund as the memo shows it. While the checkout is open, a refund that the memo does not have yet is pending.
   */
  async #withoutAnswer(id: string, request: RefundRequest, kind: 'undecided' | 'closed'): Promise<Shown> {
    const stored = await afterWrite(this.repository.get(keyOf(id)));
    const found = stored.refunds.find(({ key }) => key === request.key);
    if (found !== undefined) {
      throwIf(refuseRepetition(found, request.amount), found.currency);
      return shown(found, stored.version);
    }
    if (kind === 'closed') throw closed(stored);
    return { refund: expected(stored, request), version: stored.version };
  }
}

/** No location names the version of a refund that was decided. */
const DECIDED = 0;

/** Eight characters distinguish the requests for one key of one checkout. The refund stores them for a year. */
const NONCE_BYTES = 6;

function shown(stored: StoredRefund, version: number): Shown {
  return { refund: toRefund(stored), requestNonce: stored.nonce, version };
}

function closed({ state }: StoredCheckout): Problem {
  if (!isPaid(state.status)) return new Problem('not_paid', `The checkout is ${state.status} and has closed`);
  // A closed checkout no longer shows its refund window.
  const until =
    state.paid_at === null ? 'an unknown time' : formatInstant(refundableUntil(parseInstant(state.paid_at)));
  return new Problem('refund_window_closed', `The checkout has closed. Refunds were possible until ${until}`);
}

/**
 * A refund that the workflow has not stored yet, as the request and the checkout describe it.
 * @throws {Problem} where the published payment already decides that the workflow refuses it.
 */
function expected(stored: StoredCheckout, request: RefundRequest): RefundReply {
  const { intent, state, timeline, refunds } = stored;
  const now = instant(Date.now());
  // What is refunded stays refunded, but a pending refund may still be refused.
  const payment = { ...refundablePayment(stored), pending: 0 };
  // One that counts as made elsewhere has the provider's id as its key, and may turn out to be one of the others.
  const count = refunds.filter(({ id, key }) => id !== key).length;
  const isPublished = payment.paidAt !== null;
  throwIf(isPublished ? refuseNewRefund(payment, count, request.amount, now) : null, intent.currency);
  // A payment that is not published yet can only be refunded as a whole.
  const amount = request.amount ?? (isPublished ? leftToRefund(payment) : intent.amount);
  return {
    id: null,
    key: request.key,
    charge_id: acceptedChargeOf(state, timeline) ?? state.attempts.at(-1)?.charge_id ?? null,
    amount,
    currency: intent.currency,
    kind: expectedKind(stored, amount, now),
    status: 'pending',
    reason: request.reason,
    failure_code: null,
    failure_message: null,
    requested_by: request.by ?? null,
    created_at: formatInstant(now),
  };
}

/** @throws {Problem} */
function throwIf(refusal: RefundRefusal | null, currency: Currency): void {
  if (refusal !== null) throw new Problem(refusal.code, describeRefusal(refusal, currency));
}
