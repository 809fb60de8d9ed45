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
  isDecidedAs,
  refundablePayment,
  toRefund,
  type RefundDecision,
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
import { afterWrite, refusal, retryAfterSeconds } from '../temporal/failures.js';

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
   * request; 202 while the outcome is not known, or a second person has to approve.
   * @throws {Problem} `not_found`, `not_paid`, `refund_window_closed`, `refund_exceeds_paid`, `idempotency_conflict`,
   * `too_many_refunds`.
   */
  async create(
    id: string,
    idempotencyKey: string,
    body: CreateRefund,
    { by, origin, key }: Asker,
  ): Promise<AskedRefund> {
    const { amount = null, reason = null } = body;
    const limit = key?.refundLimit ?? null;
    const request: RefundRequest = {
      key: idempotencyKey,
      amount,
      reason,
      by,
      ...(limit === null ? {} : { limit }),
    };
    // A workflow accepts ten updates at a time, so equal requests at the same time share one.
    const { answer, first } = await this.#asking.join(JSON.stringify([id, request]), () =>
      this.#ask(id, { ...request, origin }),
    );
    const { nonce, asked } = answer;
    if (asked.kind === 'refused') throw refusal(asked);
    const { refund, requestNonce, version } =
      asked.kind === 'answered'
        ? await this.#answered(id, asked.answer)
        : await this.#withoutAnswer(id, request, asked.kind);
    if (!isDecided(refund)) return { refund, status: 202, location: waitingLocation(id, version) };
    return { refund, status: first && requestNonce === nonce ? 201 : 200 };
  }

  /**
   * A second person's decision about a refund that waits for approval: 202 while the outcome of an approved refund is not
   * known.
   * @throws {Problem} `not_found`, `refund_decided`, `second_person_required`, `forbidden`; `temporal_unavailable`: the
   * decision may have been made, and the same decision again is safe.
   */
  async decide(id: string, decision: RefundDecision): Promise<AskedRefund> {
    const asked = await this.repository.decideRefund(keyOf(id), decision, timeBeforeFollowUp());
    if (asked.kind === 'refused') throw refusal(asked);
    const { refund, version } =
      asked.kind === 'answered'
        ? await this.#answered(id, asked.answer)
        : await this.#decidedBefore(id, decision, asked.kind);
    return isDecided(refund)
      ? { refund, status: 200 }
      : { refund, status: 202, location: waitingLocation(id, version) };
  }

  /** The refund as the memo shows it, where the memo already shows this decision. */
  async #decidedBefore(id: string, { key, decision }: RefundDecision, kind: 'undecided' | 'closed'): Promise<Shown> {
    const { refunds, version } = await afterWrite(this.repository.get(keyOf(id)));
    const found = refunds.find((refund) => refund.key === key);
    if (found === undefined) throw new Problem('not_found', `No refund has the key ${key}`);
    if (isDecidedAs(found, decision)) return shown(found, version);
    if (kind === 'undecided' && found.status === 'needs_approval') {
      const detail = 'No worker accepted the decision in time';
      throw new Problem('temporal_unavailable', detail, { retryAfterSeconds: retryAfterSeconds() });
    }
    const state = kind === 'closed' ? 'the checkout has closed' : `it is ${found.status}`;
    throw new Problem('refund_decided', `The refund does not wait for approval: ${state}`);
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
    if (isDecided(answer)) return shown(answer, DECIDED);
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

function isDecided({ status }: Pick<RefundReply, 'status'>): boolean {
  return status === 'succeeded' || status === 'rejected';
}

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
    approved_by: null,
    approval_until: null,
    created_at: formatInstant(now),
  };
}

/** @throws {Problem} */
function throwIf(refusal: RefundRefusal | null, currency: Currency): void {
  if (refusal !== null) throw new Problem(refusal.code, describeRefusal(refusal, currency));
}
