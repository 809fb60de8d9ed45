import {
  checkoutId,
  DEFAULT_ACCOUNT,
  isFinalCharge,
  parseCheckoutId,
  type CheckoutKey,
  type RoutedEvent,
} from '@tillflow/domain';
import { NotFoundError, PaymentsError, type Charge, type PaymentsClient } from '@tillflow/payments-client';
import {
  owesBack,
  showsPayment,
  type ChargeFacts,
  type CheckoutMemo,
  type TailNotice,
  type UnplacedEvent,
} from '@tillflow/workflows';
import { toFacts } from '../activities/facts.js';
import type { FoundCheckout, TailCheckouts } from './checkouts.js';
import { createdAt, toNotice } from './notices.js';
import { isTemporalDown } from './temporal-down.js';
import { toUnplaced } from './unplaced.js';

/** What an event says happened to what. */
type Happening = Pick<RoutedEvent, 'key' | 'subject'>;

/** An event about a checkout or a charge, which may be news. */
export type News = RoutedEvent & {
  /** Others about the same, which are delivered with it. */
  readonly also: readonly Happening[];
  /** When it happened, ISO 8601; null where the provider does not say. */
  readonly createdAt: string | null;
  /** Of one that was tried before. */
  readonly before: UnplacedEvent | null;
};

/** What became of an event. */
export type Delivered =
  /** The checkout was told, durably. */
  | { readonly as: 'hinted' }
  /** It was closed, and was opened again for it. */
  | { readonly as: 'reopened' }
  /** There is nothing to tell: it is known, or nobody's. */
  | { readonly as: 'settled' }
  | { readonly as: 'unplaced'; readonly event: UnplacedEvent; readonly notice: TailNotice | null };

const SETTLED: Delivered = { as: 'settled' };
const LOOK = { timeoutMs: 3_000, deadlineMs: 10_000 } as const;
/** The charge's own words for a payment that did not come about, or not yet. */
const UNPAID: ReadonlySet<string> = new Set(['pending', 'failed', 'expired']);
/** So often a payment that an event tells of, and that is not shown, is looked for once more. */
const EARLY_TRIES = 2;
/** What happened longer ago the provider shows by now. */
const EARLY_MS = 600_000;

/** Takes events to the checkouts they are about. A delivery that fails for good is told of, and never holds up others. */
export class Delivery {
  constructor(
    private readonly checkouts: TailCheckouts,
    private readonly provider: PaymentsClient,
    private readonly livemode: boolean,
    private readonly signal: AbortSignal,
  ) {}

  /**
   * @param owners the open checkouts of charges that were searched for.
   * @throws Temporal's own errors while it is down: then nothing was delivered.
   */
  async deliver(news: News, owners: ReadonlyMap<string, CheckoutKey>): Promise<Delivered> {
    try {
      return await this.#deliver(news, owners);
    } catch (error) {
      if (isTemporalDown(error) || this.signal.aborted) throw error;
      const why = error instanceof PaymentsError ? `${error.code}: ${error.message}` : String(error);
      return this.#unplaced(news, why, null);
    }
  }

  async #deliver(news: News, owners: ReadonlyMap<string, CheckoutKey>): Promise<Delivered> {
    const key = news.checkout ?? (await this.#ownerOf(news, owners));
    if (key === null) return SETTLED;
    const found = await this.checkouts.find(key);
    if (found.is === 'open' && isKnown(news, found.memo)) return SETTLED;
    if (found.is === 'closed' || found.is === 'absent') return this.#late(news, key, found);
    if (await this.checkouts.hint(key, hintOf(news))) return { as: 'hinted' };
    if (found.is === 'open') return this.#deliver(news, owners);
    return this.#unplaced(news, 'checkout_unreadable: it has closed, and PAYLOAD_KEYS lacks a key of it', null);
  }

  /**
   * By its charge: a refund that was made elsewhere names no checkout, nor does an event that shows no metadata. What
   * shows some without our name is of someone else.
   */
  async #ownerOf(
    { chargeId, subject, showsMetadata }: News,
    owners: ReadonlyMap<string, CheckoutKey>,
  ): Promise<CheckoutKey | null> {
    if (chargeId === null) return null;
    const owner = owners.get(chargeId);
    if (owner !== undefined) return owner;
    if (subject === chargeId && showsMetadata) return null;
    const charge = await this.#retrieve(chargeId);
    const named = parseCheckoutId(charge === null ? '' : (toFacts(charge, this.livemode).checkoutId ?? ''));
    return named?.account === DEFAULT_ACCOUNT ? named : null;
  }

  /** The checkout takes no hint: only a payment that it does not know of matters now. */
  async #late(
    news: News,
    key: CheckoutKey,
    found: Extract<FoundCheckout, { is: 'closed' | 'absent' }>,
  ): Promise<Delivered> {
    if (news.chargeId === null) return SETTLED;
    const charge = await this.#retrieve(news.chargeId);
    if (charge === null) return this.#unplaced(news, 'not_found: the provider does not show the charge', null);
    const facts = toFacts(charge, this.livemode);
    if (UNPAID.has(facts.status)) {
      if (!mayBeEarly(news, facts)) return SETTLED;
      return this.#unplaced(news, `not_paid: the provider shows it as ${facts.status}`, null);
    }
    if (facts.checkoutId !== checkoutId(key) || facts.isOtherMode) return SETTLED;
    if (found.is === 'absent') return this.#missing(news, facts);
    const { memo } = found;
    if (showsPayment(memo, facts.chargeId) && !owesBack(memo, facts.chargeId)) return SETTLED;
    await this.checkouts.reopen(key, found, facts, hintOf(news));
    return { as: 'reopened' };
  }

  /** Whose money it is cannot be known here: another installation may use the same account, or our own engine lost it. */
  #missing(news: News, facts: ChargeFacts): Delivered {
    const detail = `${facts.chargeId} was paid for ${facts.checkoutId ?? 'a checkout'}, which is not there: nothing was given back`;
    const about = { id: news.id, created_at: news.createdAt };
    const notice = toNotice(about, 'checkout_missing', facts.chargeId, {
      detail,
      charge_id: facts.chargeId,
      checkout_id: facts.checkoutId,
    });
    return this.#unplaced(news, 'checkout_missing: no workflow has this reference', notice);
  }

  #unplaced(news: News, why: string, notice: TailNotice | null): Delivered {
    const about = {
      event_id: news.id,
      event_key: happeningsOf(news).find(({ key }) => key === 'charge.complete')?.key ?? news.key,
      subject: news.subject,
      checkout_id: news.checkout === null ? null : checkoutId(news.checkout),
      charge_id: news.chargeId,
      created_at: news.createdAt,
    };
    return {
      as: 'unplaced',
      event: toUnplaced(about, why, news.before),
      notice: news.before === null ? notice : null,
    };
  }

  async #retrieve(chargeId: string): Promise<Charge | null> {
    try {
      return await this.provider.charges.retrieve(chargeId, { ...LOOK, signal: this.signal });
    } catch (error) {
      if (error instanceof NotFoundError) return null;
      throw error;
    }
  }
}

/** An event may come before the provider shows what it is about; what is pending has no end yet, whatever was told. */
function mayBeEarly(news: News, { status }: ChargeFacts): boolean {
  if (!happeningsOf(news).some(({ key }) => key === 'charge.complete')) return false;
  if (status === 'pending') return true;
  const at = createdAt({ created_at: news.createdAt });
  return (news.before?.tries ?? 0) < EARLY_TRIES && (at === null || Date.now() - at < EARLY_MS);
}

function hintOf({ id, key, chargeId }: News) {
  return { eventId: id, eventKey: key, chargeId };
}

function happeningsOf({ key, subject, also }: News): readonly Happening[] {
  return [{ key, subject }, ...also];
}

/** The checkout shows all that the events can tell: a webhook was here before. By ids, never by what an event says. */
function isKnown(news: News, memo: CheckoutMemo): boolean {
  return happeningsOf(news).every((happening) => isShown(happening, news.chargeId, memo));
}

function isShown({ key, subject }: Happening, chargeId: string | null, memo: CheckoutMemo): boolean {
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
