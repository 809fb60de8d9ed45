import { checkoutId, isFinalCharge, parseCheckoutId, type CheckoutKey } from '@tillflow/domain';
import { NotFoundError, PaymentsError, type Charge, type PaymentsClient } from '@tillflow/payments-client';
import { isTemporalDown } from '@tillflow/temporal';
import {
  isReturnUnfinished,
  showsPayment,
  type ChargeFacts,
  type CheckoutMemo,
  type TailNotice,
  type UnplacedEvent,
} from '@tillflow/workflows';
import { instantOf, toFacts } from '../activities/charge-facts.js';
import { changesOf, type CheckoutEvent } from './checkout-events.js';
import type { FoundCheckout, TailCheckouts } from './checkouts.js';
import { toNotice } from './notices.js';
import { toUnplaced } from './unplaced.js';

/** The result of a delivery. */
export type Delivered =
  /** The checkout has the hint, durably. */
  | { readonly as: 'hinted' }
  /** The checkout was closed, and was reopened. */
  | { readonly as: 'reopened' }
  /** Nothing to deliver: the checkout shows it already, or the event concerns no checkout of this account. */
  | { readonly as: 'settled' }
  | { readonly as: 'unplaced'; readonly event: UnplacedEvent; readonly notice: TailNotice | null };

const SETTLED: Delivered = { as: 'settled' };
const READ_LIMITS = { timeoutMs: 3_000, deadlineMs: 10_000 } as const;
/** Statuses of a charge that is not paid, or not yet. */
const UNPAID: ReadonlySet<string> = new Set(['pending', 'failed', 'expired']);
/** How often a charge is retrieved again when an event reports a payment that the provider does not show. */
const EARLY_TRIES = 2;
/** The provider shows a payment at the latest this long after its event, in milliseconds. Assumption. */
const EARLY_MS = 600_000;

/**
 * Delivers events to their checkouts. An event that cannot be delivered is returned as unplaced and delays no other.
 */
export class Delivery {
  constructor(
    private readonly checkouts: TailCheckouts,
    private readonly provider: PaymentsClient,
    private readonly livemode: boolean,
    private readonly signal: AbortSignal,
    private readonly account: string,
  ) {}

  /**
   * @param owners the open checkouts of charges, for events that name no checkout
   * @throws Temporal's own errors while Temporal is down: then nothing was delivered.
   */
  async deliver(event: CheckoutEvent, owners: ReadonlyMap<string, CheckoutKey>): Promise<Delivered> {
    try {
      return await this.#deliver(event, owners);
    } catch (error) {
      if (isTemporalDown(error) || this.signal.aborted) throw error;
      const why = error instanceof PaymentsError ? `${error.code}: ${error.message}` : String(error);
      return this.#unplaced(event, why, null);
    }
  }

  async #deliver(event: CheckoutEvent, owners: ReadonlyMap<string, CheckoutKey>): Promise<Delivered> {
    const key = event.checkout ?? (await this.#ownerOf(event, owners));
    if (key === null) return SETTLED;
    const found = await this.checkouts.find(key);
    if (found.is === 'open' && isKnown(event, found.memo)) return SETTLED;
    if (found.is === 'closed' || found.is === 'absent') return this.#deliverToClosed(event, key, found);
    if (await this.checkouts.hint(key, hintOf(event))) return { as: 'hinted' };
    if (found.is === 'open') return this.#deliver(event, owners);
    return this.#unplaced(event, 'checkout_unreadable: the checkout has closed, and PAYLOAD_KEYS lacks its key', null);
  }

  /**
   * Finds the checkout by the charge. A refund that was made elsewhere names no checkout, nor does an event without
   * metadata. A charge with metadata that names no checkout belongs to another system.
   */
  async #ownerOf(
    { chargeId, subject, showsMetadata }: CheckoutEvent,
    owners: ReadonlyMap<string, CheckoutKey>,
  ): Promise<CheckoutKey | null> {
    if (chargeId === null) return null;
    const owner = owners.get(chargeId);
    if (owner !== undefined) return owner;
    if (subject === chargeId && showsMetadata) return null;
    const charge = await this.#retrieve(chargeId);
    const named = parseCheckoutId(charge === null ? '' : (toFacts(charge, this.livemode).checkoutId ?? ''));
    return named?.account === this.account ? named : null;
  }

  /** The checkout accepts no hint. Only a payment that it does not show needs action. */
  async #deliverToClosed(
    event: CheckoutEvent,
    key: CheckoutKey,
    found: Extract<FoundCheckout, { is: 'closed' | 'absent' }>,
  ): Promise<Delivered> {
    if (event.chargeId === null) return SETTLED;
    const charge = await this.#retrieve(event.chargeId);
    if (charge === null) return this.#unplaced(event, 'not_found: the provider does not show the charge', null);
    const facts = toFacts(charge, this.livemode);
    if (UNPAID.has(facts.status)) {
      if (!mayBeEarly(event, facts)) return SETTLED;
      return this.#unplaced(event, `not_paid: the provider shows it as ${facts.status}`, null);
    }
    if (facts.checkoutId !== checkoutId(key) || facts.isOtherMode) return SETTLED;
    if (found.is === 'absent') return this.#missing(event, facts);
    const { memo } = found;
    if (showsPayment(memo, facts.chargeId) && !isReturnUnfinished(memo, facts.chargeId)) return SETTLED;
    await this.checkouts.reopen(found, facts, hintOf(event));
    return { as: 'reopened' };
  }

  /**
   * The payment may belong to another installation on the same account, or Temporal may have lost the checkout, so a
   * person has to decide.
   */
  #missing(event: CheckoutEvent, facts: ChargeFacts): Delivered {
    const detail = `${facts.chargeId} was paid for ${facts.checkoutId ?? 'a checkout'}, which does not exist. Tillflow has not returned the money.`;
    const about = { id: event.id, created_at: event.createdAt };
    const notice = toNotice(about, 'checkout_missing', facts.chargeId, {
      detail,
      charge_id: facts.chargeId,
      checkout_id: facts.checkoutId,
    });
    return this.#unplaced(event, 'checkout_missing: no workflow has this reference', notice);
  }

  #unplaced(event: CheckoutEvent, why: string, notice: TailNotice | null): Delivered {
    const about = {
      event_id: event.id,
      event_key: changesOf(event).find(({ key }) => key === 'charge.complete')?.key ?? event.key,
      subject: event.subject,
      checkout_id: event.checkout === null ? null : checkoutId(event.checkout),
      charge_id: event.chargeId,
      created_at: event.createdAt,
    };
    return {
      as: 'unplaced',
      event: toUnplaced(about, why, event.before),
      notice: event.before === null ? notice : null,
    };
  }

  async #retrieve(chargeId: string): Promise<Charge | null> {
    try {
      return await this.provider.charges.retrieve(chargeId, { ...READ_LIMITS, signal: this.signal });
    } catch (error) {
      if (error instanceof NotFoundError) return null;
      throw error;
    }
  }
}

/** An event may arrive before the provider shows the payment. A pending charge may still be paid. */
function mayBeEarly(event: CheckoutEvent, { status }: ChargeFacts): boolean {
  if (!changesOf(event).some(({ key }) => key === 'charge.complete')) return false;
  if (status === 'pending') return true;
  const at = instantOf(event.createdAt);
  return (event.before?.tries ?? 0) < EARLY_TRIES && (at === null || Date.now() - at < EARLY_MS);
}

function hintOf({ id, key, chargeId }: CheckoutEvent) {
  return { eventId: id, eventKey: key, chargeId };
}

/**
 * Whether the checkout shows every change already, because a webhook came first. Compares ids, never an event's
 * content.
 */
function isKnown(event: CheckoutEvent, memo: CheckoutMemo): boolean {
  return changesOf(event).every((change) => isShown(change, event.chargeId, memo));
}

function isShown(
  { key, subject }: ReturnType<typeof changesOf>[number],
  chargeId: string | null,
  memo: CheckoutMemo,
): boolean {
  switch (key) {
    case 'charge.complete':
      return chargeId !== null && showsPayment(memo, chargeId);
    case 'charge.expire':
      return (
        memo.state?.attempts.some(({ charge_id: id, status }) => id === chargeId && isFinalCharge(status)) === true
      );
    case 'refund.create':
      return memo.refunds?.some(({ id, status }) => id === subject && status === 'succeeded') === true;
    default:
      return false;
  }
}
