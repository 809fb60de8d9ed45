import { Injectable } from '@nestjs/common';
import { isPaid } from '@tillflow/domain';
import { newestAttempt, type RequestResult, type StoredCheckout } from '@tillflow/temporal';
import type { AttemptView } from '@tillflow/workflows';
import { timeBeforeFollowUp } from '../temporal/request-budget.js';
import type { Asker } from '../auth/caller.js';
import { Acceptance, notAccepting } from '../availability/acceptance.js';
import { Problem } from '../problems/problem.js';
import type { NewAttempt } from './checkouts.schema.js';
import { CheckoutsRepository, keyOf } from './checkouts.repository.js';
import type { CheckoutReply } from './checkouts.schema.js';
import { InFlight } from '../shared/in-flight.js';
import { CheckoutPresenter } from './presenter.js';
import { afterWrite, refusal } from '../temporal/failures.js';

export type AskedAttempt = { readonly checkout: CheckoutReply; readonly status: 201 | 202 };

/**
 * New attempts of a checkout. A request names the attempt that it replaces, so a repeated request creates no second
 * one.
 */
@Injectable()
export class AttemptsService {
  readonly #inFlight = new InFlight<RequestResult<number>>();

  constructor(
    private readonly repository: CheckoutsRepository,
    private readonly presenter: CheckoutPresenter,
    private readonly acceptance: Acceptance,
  ) {}

  /**
   * The checkout with attempt `after` + 1: 201 once the provider has created or refused its charge, 202 before.
   * @throws {Problem} `not_found`, `already_paid`, `checkout_closed`, `attempt_unknown`, `too_many_attempts`,
   * `not_accepting`.
   */
  async open(id: string, request: NewAttempt, { by, origin }: Asker): Promise<AskedAttempt> {
    const key = keyOf(id);
    const after = request.after ?? newestAttempt(await this.repository.get(key));
    const pause = await this.acceptance.pause();
    if (pause !== null && wouldStart(await this.repository.get(key), after)) throw notAccepting(pause);
    const { answer: asked } = await this.#inFlight.join(`${id} ${after}`, () =>
      this.repository.newAttempt(key, { after, by, origin }, timeBeforeFollowUp()),
    );
    if (asked.kind === 'refused') throw refusal(asked);
    const stored = await afterWrite(this.repository.get(key));
    if (asked.kind === 'closed') throw closed(stored);
    const made = stored.state.attempts.find(({ number }) => number === after + 1);
    if (made !== undefined && isAnswered(made)) {
      return { checkout: this.presenter.present(stored), status: 201 };
    }
    // The workflow withdraws the QR code that the memo may still show.
    return { checkout: { ...this.presenter.presentPending(stored), qr: null }, status: 202 };
  }
}

/** The request would create an attempt. False: the attempt exists, or the checkout accepts none. */
function wouldStart(stored: StoredCheckout, after: number): boolean {
  const { status } = stored.state;
  return after >= newestAttempt(stored) && !stored.closed && !isPaid(status) && status !== 'cancelled';
}

/** The provider has created the charge, or will not create it. */
function isAnswered({ status, charge_id }: AttemptView): boolean {
  return status !== 'pending' || charge_id !== null;
}

function closed({ state }: StoredCheckout): Problem {
  if (isPaid(state.status)) return new Problem('already_paid', `Paid at ${state.paid_at ?? 'an unknown time'}`);
  return new Problem('checkout_closed', `The checkout is ${state.status} and has closed`);
}
