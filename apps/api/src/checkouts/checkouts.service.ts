import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import {
  chargeLimits,
  checkoutId,
  formatInstant,
  formatMoney,
  instant,
  isCurrency,
  isPaid,
  isWithinChargeLimits,
  type CheckoutKey,
  type CheckoutStatus,
  type Currency,
  type Money,
} from '@tillflow/domain';
import {
  isWithin,
  readPlace,
  writePlace,
  type Pause,
  type Place,
  type StoredCheckout,
  type Till,
} from '@tillflow/temporal';
import { initialState, type Attributed, type CheckoutInput, type CheckoutIntent } from '@tillflow/workflows';
import { currentBudget, timeBeforeFollowUp, timeBeforeRead } from '../temporal/request-budget.js';
import { describePlace, type Asker } from '../auth/caller.js';
import { Acceptance, notAccepting } from '../availability/acceptance.js';
import { Problem } from '../problems/problem.js';
import { checkoutPolicy } from '../settings.js';
import { Settings } from '../providers.js';
import { CheckoutsRepository, keyOf } from './checkouts.repository.js';
import { CheckoutStarts } from './starts.js';
import type {
  CheckoutReply,
  CheckoutsReply,
  CreateCheckout,
  ListCheckouts,
  TimelineReply,
} from './checkouts.schema.js';
import { Cursors } from '../shared/cursors.js';
import { EventTailWatch } from './event-tail-watch.js';
import { InFlight } from '../shared/in-flight.js';
import { CheckoutPresenter } from './presenter.js';
import { SourceCheck } from './source-check.js';
import { afterWrite, refusal, retryAfterSeconds, unavailable } from '../temporal/failures.js';
import { CallerGoneError } from '../temporal/gate.js';

export type Begun = { readonly checkout: CheckoutReply; readonly status: 200 | 201 | 202 };

/** The rules of the API for checkouts. One workflow carries out each checkout. */
@Injectable()
export class CheckoutsService {
  readonly #beginning = new InFlight<StoredCheckout | null>();

  constructor(
    private readonly repository: CheckoutsRepository,
    private readonly starts: CheckoutStarts,
    private readonly settings: Settings,
    private readonly presenter: CheckoutPresenter,
    private readonly sources: SourceCheck,
    private readonly cursors: Cursors,
    private readonly tail: EventTailWatch,
    private readonly acceptance: Acceptance,
  ) {}

  /**
   * The checkout of this reference: a new one, or the existing one. 202 also when Temporal did not confirm it in time
   * and it may still begin.
   * @throws {Problem} `unsupported_currency`, `amount_out_of_range`, `source_mismatch`, `reference_conflict`;
   * `not_accepting`, `overloaded`, `temporal_unavailable`: the checkout did not begin; `forbidden` for a session of the
   * counter that names a till, a store or a source, and for a key that names a till of another place.
   */
  async begin(given: CreateCheckout, { by, origin, till, place }: Asker): Promise<Begun> {
    const request = till === undefined ? within(place, given) : atTill(given, till);
    const money = chargeable(request.amount, request.currency, this.settings.values.CURRENCIES);
    const intent = toIntent(this.settings.account, request, money);
    const requestNonce = randomUUID();
    // Simultaneous requests for the same checkout share one start.
    const sameRequest = JSON.stringify([intent.id, money, request.source]);
    const { answer: stored } = await this.#beginning.join(sameRequest, () =>
      this.#begin(request, money, { intent, by, origin }, requestNonce),
    );
    if (stored === null) {
      const expected = this.#expected(intent);
      // The reference may belong to a checkout of another till, which the link would show.
      return { checkout: place === undefined ? expected : { ...expected, events_url: null }, status: 202 };
    }
    if (!isWithin(place, stored.intent)) {
      throw new Problem(
        'reference_conflict',
        `The reference ${intent.reference} belongs to a checkout of another till`,
      );
    }
    const { amount, currency } = stored.intent;
    if (amount !== money.amount || currency !== money.currency) {
      throw new Problem(
        'reference_conflict',
        `The reference ${intent.reference} already belongs to a checkout of ${formatMoney(stored.intent)}`,
      );
    }
    if (stored.state.status === 'creating') return { checkout: this.presenter.presentPending(stored), status: 202 };
    const checkout = this.presenter.present(stored);
    return { checkout, status: stored.requestNonce === requestNonce ? 201 : 200 };
  }

  async timeline(id: string): Promise<TimelineReply> {
    const { timeline } = await this.repository.get(keyOf(id));
    return { data: [...timeline], next_cursor: null };
  }

  /** In one order across all pages: open checkouts, then ended ones, each part with the newest first. */
  async list({ limit, cursor, ...given }: ListCheckouts, { till, place }: Asker): Promise<CheckoutsReply> {
    // The pages of the counter name no till: a session always means its own.
    const filters = { ...given, ...(till && { terminal: undefined, store: undefined }), place };
    const list = ['checkouts', JSON.stringify(filters)];
    const token = cursor === undefined ? null : this.cursors.read(cursor, list).token;
    const { data, next } = await this.repository.list(filters, limit, token === null ? null : readPlace(token));
    return {
      data: data.map((stored) => this.presenter.present(stored)),
      next_cursor: next === null ? null : this.cursors.write({ search: next.part, token: writePlace(next) }, list),
    };
  }

  /** @throws {Problem} `already_paid` when the customer has paid first. */
  async cancel(
    id: string,
    { by, origin }: Asker,
  ): Promise<{ readonly checkout: CheckoutReply; readonly status: 200 | 202 }> {
    const key = keyOf(id);
    const asked = await this.repository.cancel(key, { by, origin }, timeBeforeFollowUp());
    if (asked.kind === 'refused') throw refusal(asked);
    const stored = await afterWrite(this.repository.get(key));
    const { status, paid_at } = stored.state;
    if (isPaid(status)) throw new Problem('already_paid', `Paid at ${paid_at ?? 'an unknown time'}`);
    const isEnded = UNPAID_ENDS.has(status);
    const present = isEnded ? this.presenter.present(stored) : this.presenter.presentPending(stored);
    // The workflow withdraws the QR code, although the memo may still show it.
    return { checkout: { ...present, qr: null }, status: isEnded ? 200 : 202 };
  }

  /** A source that this checkout already uses is accepted: the same request may arrive twice at the same time. */
  async #sourceMustFit(source: string, money: Money, key: CheckoutKey): Promise<void> {
    if (await this.repository.has(key)) return;
    try {
      await this.sources.mustFit(source, money);
    } catch (error) {
      if (!(await this.repository.has(key))) throw error;
    }
  }

  /** @returns null when the checkout cannot be read yet and may still begin. */
  async #begin(
    request: CreateCheckout,
    money: Money,
    { intent, by, origin }: Attributed & { readonly intent: CheckoutIntent },
    requestNonce: string,
  ): Promise<StoredCheckout | null> {
    const pause = await this.acceptance.pause();
    if (pause !== null) return this.#begunBefore(intent, pause);
    if (request.source !== undefined) await this.#sourceMustFit(request.source, money, intent);
    const policy = checkoutPolicy(this.settings.values, { hasTail: this.tail.isAwake });
    const input: CheckoutInput = { by, origin, policy, limits: true };
    const start = { intent, requestNonce, input };
    const begun = await this.starts.begin(start, timeBeforeRead());
    if (begun.kind === 'opened') return begun.checkout;
    try {
      return await this.repository.get(intent);
    } catch (error) {
      if (!(error instanceof Problem) || !UNSEEN.has(error.code)) throw error;
      if (begun.kind === 'there' && error.code === 'not_found') {
        throw new Problem('temporal_unavailable', 'The payment engine did not accept the request', {
          retryAfterSeconds: retryAfterSeconds(),
        });
      }
      if (begun.kind === 'unconfirmed') {
        if (!begun.mayBegin) throw begun.problem;
        // A caller who has left gets no 202, so no one waits for this checkout. A repeated request starts it.
        if (currentBudget()?.gone.aborted === true) throw unavailable(new CallerGoneError('The caller is gone'));
        this.starts.beginLater(start);
      }
      return null;
    }
  }

  /** The checkout that already has this reference. @throws {Problem} `not_accepting` when there is none. */
  async #begunBefore(key: CheckoutKey, pause: Pause): Promise<StoredCheckout> {
    try {
      return await this.repository.get(key);
    } catch (error) {
      throw error instanceof Problem && error.code === 'not_found' ? notAccepting(pause) : error;
    }
  }

  /** The checkout as its request describes it, before Temporal has it. */
  #expected(intent: CheckoutIntent): CheckoutReply {
    const state = initialState(intent);
    return this.presenter.presentPending({
      intent,
      state,
      requestNonce: '',
      timeline: [],
      refunds: [],
      version: 0,
      closed: false,
    });
  }
}

/** Why a checkout cannot be read although it may exist. */
const UNSEEN: ReadonlySet<string> = new Set(['not_found', 'temporal_unavailable', 'overloaded']);

const UNPAID_ENDS: ReadonlySet<CheckoutStatus> = new Set(['cancelled', 'expired', 'failed']);

function chargeable(amount: number, currency: string, sold: readonly Currency[]): Money {
  if (!isCurrency(currency) || !sold.includes(currency)) {
    throw new Problem('unsupported_currency', `${currency} is not one of ${sold.join(', ')}`);
  }
  const money: Money = { amount, currency };
  if (isWithinChargeLimits(money)) return money;
  const { min, max } = chargeLimits(currency);
  throw new Problem(
    'amount_out_of_range',
    `A payment can be from ${formatMoney({ amount: min, currency })} to ${formatMoney({ amount: max, currency })}`,
  );
}

/**
 * A key of some stores or tills sells there. Where it has one store or one till, a request that names none means that.
 * @throws {Problem} `forbidden`
 */
function within(place: Place | undefined, request: CreateCheckout): CreateCheckout {
  if (place === undefined) return request;
  const { stores, terminals } = place;
  const store = request.store ?? (stores?.length === 1 && stores[0] ? { id: stores[0], name: undefined } : undefined);
  const terminal = request.terminal ?? (terminals?.length === 1 ? terminals[0] : undefined);
  if (
    !isWithin(place, { terminal: terminal ?? null, store: store ? { id: store.id, name: store.name ?? null } : null })
  ) {
    throw new Problem('forbidden', `The key sells only at ${describePlace(place)}`);
  }
  return { ...request, terminal, store };
}

/** A session of the counter sells at its own till. @throws {Problem} `forbidden` */
function atTill(request: CreateCheckout, { terminal, store }: Till): CreateCheckout {
  if (request.terminal !== undefined || request.store !== undefined || request.source !== undefined) {
    throw new Problem('forbidden', 'The session decides the till and the store: leave out terminal, store and source');
  }
  const name = store?.name ?? undefined;
  return { ...request, terminal, ...(store === null ? {} : { store: { id: store.id, name } }) };
}

function toIntent(account: string, request: CreateCheckout, { amount, currency }: Money): CheckoutIntent {
  const key = { account, reference: request.reference };
  return {
    id: checkoutId(key),
    ...key,
    amount,
    currency,
    description: request.description ?? null,
    metadata: request.metadata ?? {},
    terminal: request.terminal ?? null,
    ...(request.store && { store: { id: request.store.id, name: request.store.name ?? null } }),
    expires_in: request.expires_in,
    source: request.source ?? null,
    created_at: formatInstant(instant(Date.now())),
  };
}
