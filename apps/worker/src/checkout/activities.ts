import { ApplicationFailure } from '@temporalio/common';
import { DEFAULT_ACCOUNT, formatInstant, parseInstant, plus } from '@tillflow/domain';
import type { Charge, PaymentsClient, Refund, RequestOptions } from '@tillflow/payments-client';
import { annotate, CHARGE_ID } from '@tillflow/telemetry';
import { refundRightsOf, type KeyRing } from '@tillflow/temporal';
import type {
  ChargeFacts,
  FindChargesCall,
  Followed,
  PaymentActivities,
  PaymentDetails,
  PaymentWanted,
} from '@tillflow/workflows';
import { END_OF_TIME, mutate, read, type ReadOptions, type Rest } from '../activities/provider-call.js';
import { paymentDetails } from '../activities/payment-details.js';
import { embeddedRefunds, instantOf, refundedAmountOf, toFacts, toRefundFacts } from '../activities/charge-facts.js';

/** Source type of the merchant-presented QR method. Source: API reference, "Merchant-presented QR payment". */
const QR_SOURCE = 'wallet_mpm';

/**
 * This machine's clock and the provider's may differ by this much when charges are searched by time, in milliseconds.
 */
const CLOCK_SKEW_MS = 10 * 60_000;

/** When the clocks differ by more, this many of the newest charges are searched. */
const MAX_SEARCHED = 1_000;

/**
 * The activities of a checkout: each makes one call of the client, and returns its result or its typed failure.
 * @param livemode whether the client's key is a live one: a charge of the other mode is not the checkout's
 * @param isFollowed whether an event endpoint waits for the events of checkouts
 * @param keys the keys whose refunds have limits; null where none has one
 * @param account whose checkouts these are
 */
export function paymentActivities(
  client: PaymentsClient,
  livemode: boolean,
  isFollowed: () => boolean = () => false,
  keys: () => KeyRing | null = () => null,
  account = DEFAULT_ACCOUNT,
): PaymentActivities {
  const followed = (): Followed => (isFollowed() ? { isFollowed: true } : {});
  const factsOf = (charge: Charge): ChargeFacts => toFacts(charge, livemode);
  return {
    createSource: ({ amount, currency, terminal, store, ...window }) =>
      mutate(window, async (options) => {
        const source = await client.sources.create(
          {
            type: QR_SOURCE,
            amount,
            currency,
            ...(terminal === null ? {} : { terminal_id: terminal }),
            ...(store === undefined ? {} : { store_id: store.id }),
            ...(store === undefined || store.name === null ? {} : { store_name: store.name }),
          },
          options,
        );
        return { sourceId: source.id };
      }),

    createCharge: ({ amount, currency, sourceId, description, metadata, expiresAt, ...window }) =>
      mutate(window, async (options) => {
        const charge = await client.charges.create(
          {
            amount,
            currency,
            source: sourceId,
            metadata,
            expires_at: expiresAt,
            ...(description === null ? {} : { description }),
          },
          options,
        );
        annotate({ [CHARGE_ID]: charge.id });
        return { ...factsOf(charge), ...followed() };
      }),

    expireCharge: ({ chargeId, ...window }) =>
      mutate(window, async (options) => {
        annotate({ [CHARGE_ID]: chargeId });
        return factsOf(await client.charges.expire(chargeId, options));
      }),

    createRefund: ({ chargeId, amount, currency, asVoid, metadata, ...window }) =>
      mutate(window, async (options) => {
        annotate({ [CHARGE_ID]: chargeId });
        const refund = await client.charges.createRefund(
          chargeId,
          { amount, metadata, ...(asVoid ? { void: true } : {}) },
          options,
        );
        return { ...toRefundFacts(refund, currency), ...followed() };
      }),

    retrieveCharge: ({ chargeId, isSecondTry, payment, transactionId }) =>
      read(async (options, rest) => {
        annotate({ [CHARGE_ID]: chargeId });
        const early = transactionId === undefined ? undefined : payoutOf(client, transactionId, options);
        const charge = await client.charges.retrieve(chargeId, options);
        const isNamed = transactionId === charge.transaction;
        const more = await moreFacts(client, charge, payment, { options: rest(), early: isNamed ? early : undefined });
        return { ...factsOf(charge), ...more, ...followed() };
      }, isSecondTry),

    refundRights: (call) => Promise.resolve(refundRightsOf(keys(), account, call, Date.now())),

    findCharges: (call) =>
      read(async (_, rest) => {
        const charges = await findCharges(client, call, rest);
        const options = rest();
        return Promise.all(
          charges.map(async (charge) =>
            Object.assign(factsOf(charge), await moreFacts(client, charge, call.payment, { options })),
          ),
        );
      }),
  };
}

type Payout = Pick<PaymentDetails, 'payout'>;
type Reading = { readonly options: ReadOptions; readonly early?: Promise<Payout> | undefined };

/** What a charge may not contain itself: all of its refunds, and what the customer paid. */
export async function moreFacts(
  client: PaymentsClient,
  charge: Charge,
  wanted: PaymentWanted | undefined,
  reading: Reading,
): Promise<Pick<ChargeFacts, 'refunds' | 'payment'>> {
  const [refunds, paid] = await Promise.all([
    refundsOf(client, charge, reading.options),
    paymentFacts(client, charge, wanted, reading),
  ]);
  return { ...paid, refunds: refunds.map((refund) => toRefundFacts(refund, charge.currency)) };
}

/** The payment waits this long for the date of its payout, in milliseconds. A later retrieve asks again. */
const PAYOUT_WITHIN_MS = 1_000;
/** In less time, no answer comes: the payment that was read does not wait for it. Milliseconds. */
const LEAST_PAYOUT_MS = 100;

async function paymentFacts(
  client: PaymentsClient,
  charge: Charge,
  wanted: PaymentWanted | undefined,
  { options, early }: Reading,
): Promise<Pick<ChargeFacts, 'payment'>> {
  if (wanted === undefined || charge.status !== 'successful') return {};
  const payout = wanted === 'details' ? {} : await (early ?? payoutOf(client, charge.transaction, options));
  const payment = { ...paymentDetails(charge), ...payout };
  return Object.keys(payment).length === 0 ? {} : { payment };
}

/**
 * When the payment can be paid out: its transaction says so. Nothing when that is not known: the payment counts anyway.
 */
async function payoutOf(
  client: PaymentsClient,
  transaction: unknown,
  { deadlineMs: leftMs, signal }: ReadOptions,
): Promise<Payout> {
  const deadlineMs = Math.min(leftMs, PAYOUT_WITHIN_MS);
  if (typeof transaction !== 'string' || deadlineMs < LEAST_PAYOUT_MS) return {};
  const options = { deadlineMs, timeoutMs: deadlineMs, signal };
  try {
    const { transferable_at: text } = await client.transactions.retrieve(transaction, options);
    const at = instantOf(text);
    return at === null ? {} : { payout: formatInstant(at) };
  } catch {
    return {};
  }
}

/** All refunds of a charge: those embedded in it, or the list when the embedded ones are not complete. */
export async function refundsOf(client: PaymentsClient, charge: Charge, options: RequestOptions): Promise<Refund[]> {
  const embedded = embeddedRefunds(charge);
  const sum = embedded.reduce((total, { amount }) => total + amount, 0);
  if (sum === (refundedAmountOf(charge) ?? 0)) return embedded;
  const all: Refund[] = [];
  // Without an upper bound: the provider's clock may be ahead of this machine's.
  for await (const refund of client.charges.iterateRefunds(charge.id, { to: END_OF_TIME }, options)) all.push(refund);
  return all;
}

/**
 * Finds the charges of a checkout. The result is empty only when the source says that no charge uses it and no listed
 * charge has the checkout's metadata: either alone is an assumption. A charge of another checkout on the same source
 * does not count.
 * @throws {ApplicationFailure} `charge_not_listed` when the source is used but its charge is not listed yet.
 */
export async function findCharges(
  client: PaymentsClient,
  { sourceId, checkoutId, since, until }: FindChargesCall,
  rest: Rest<RequestOptions>,
): Promise<Charge[]> {
  const isUsed = sourceId !== null && (await client.sources.retrieve(sourceId, rest())).charge_status !== 'unknown';
  const from = formatInstant(plus(parseInstant(since), -CLOCK_SKEW_MS));
  const to = formatInstant(plus(parseInstant(until), CLOCK_SKEW_MS));
  const order = 'reverse_chronological';
  const listed = await pick(client.charges.iterate({ from, to, order }, rest()), { sourceId, checkoutId });
  if (!isUsed || listed.hasSourceCharge) return listed.found;
  const all = client.charges.iterate({ to: END_OF_TIME, order }, rest());
  const newest = await pick(all, { sourceId, checkoutId, most: MAX_SEARCHED });
  if (newest.hasSourceCharge) return newest.found;
  throw ApplicationFailure.retryable(`Source ${sourceId} is used, but its charge is not listed`, 'charge_not_listed');
}

/** The charges that may belong to the checkout, and whether the charge on the source is among those that were read. */
async function pick(
  charges: AsyncIterable<Charge>,
  { sourceId, checkoutId, most = Infinity }: Pick<FindChargesCall, 'sourceId' | 'checkoutId'> & { most?: number },
): Promise<{ readonly found: Charge[]; readonly hasSourceCharge: boolean }> {
  const found: Charge[] = [];
  let hasSourceCharge = false;
  let left = most;
  for await (const charge of charges) {
    const checkout = charge.metadata?.['checkout'];
    const isOnSource = sourceId !== null && charge.source?.id === sourceId;
    if (isOnSource) hasSourceCharge = true;
    if (checkout === checkoutId || (isOnSource && typeof checkout !== 'string')) found.push(charge);
    left -= 1;
    if (left <= 0) break;
  }
  return { found, hasSourceCharge };
}
