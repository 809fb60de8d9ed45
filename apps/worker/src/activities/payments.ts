import { activityInfo, Context, heartbeat } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { formatInstant, parseInstant, plus } from '@tillflow/domain';
import type { Charge, PaymentsClient, RequestOptions } from '@tillflow/payments-client';
import type { ChargeFacts, FindChargeCall, Outcome, PaymentActivities, SendWindow } from '@tillflow/workflows';
import { toOutcome, toReadFailure } from './failures.js';
import { toFacts } from './facts.js';

/** Source type of the merchant-presented QR method. Source: API reference, "Merchant-presented QR payment". */
const QR_SOURCE = 'wallet_mpm';

/** Clocks of ours and of the provider may differ by this much when charges are searched by time. */
const CLOCK_SKEW_MS = 10 * 60_000;

/** A read that hangs is soon asked again; all of its tries end within the activity's own 20 s. */
const READ_LIMITS = { timeoutMs: 3_000, deadlineMs: 15_000 } as const;

/**
 * The activities of a checkout: one client call each, its result, or its typed failure.
 * @param livemode whether the client's key is a live one: charges of the other mode are not believed.
 */
export function paymentActivities(client: PaymentsClient, livemode: boolean): PaymentActivities {
  const factsOf = (charge: Charge): ChargeFacts => toFacts(charge, livemode);
  return {
    createSource: ({ amount, currency, terminal, ...window }) =>
      mutate(window, async (options) => {
        const source = await client.sources.create(
          { type: QR_SOURCE, amount, currency, ...(terminal === null ? {} : { terminal_id: terminal }) },
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
        return factsOf(charge);
      }),

    expireCharge: ({ chargeId, ...window }) =>
      mutate(window, async (options) => factsOf(await client.charges.expire(chargeId, options))),

    retrieveCharge: ({ chargeId }) =>
      read(async (options) => factsOf(await client.charges.retrieve(chargeId, options))),

    findCharge: (call) =>
      read(async (options) => {
        const charge = await findCharge(client, call, options);
        return charge === null ? null : factsOf(charge);
      }),
  };
}

/**
 * Absent only when the source says that no charge uses it and no listed charge carries our metadata: one of the two
 * alone is an assumption. A charge of another checkout on the same source is not ours.
 * @throws {ApplicationFailure} `charge_not_listed` when the source is used but its charge is not listed yet.
 */
async function findCharge(
  client: PaymentsClient,
  { sourceId, checkoutId, attempt, since, until }: FindChargeCall,
  options: RequestOptions,
): Promise<Charge | null> {
  const source = await client.sources.retrieve(sourceId, options);
  const from = formatInstant(plus(parseInstant(since), -CLOCK_SKEW_MS));
  const to = formatInstant(plus(parseInstant(until), CLOCK_SKEW_MS));
  let isUsedElsewhere = false;
  for await (const charge of client.charges.iterate({ from, to, order: 'reverse_chronological' }, options)) {
    const { checkout, attempt: number } = charge.metadata ?? {};
    if (checkout === checkoutId && number === String(attempt)) return charge;
    if (charge.source?.id !== sourceId) continue;
    if (typeof checkout !== 'string') return charge;
    isUsedElsewhere = true;
  }
  if (source.charge_status === 'unknown' || isUsedElsewhere) return null;
  throw ApplicationFailure.retryable(`Source ${sourceId} is used, but its charge is not listed`, 'charge_not_listed');
}

/** A call that may have an effect: bounded in time, never begun too late, tried once, never thrown as a failure. */
async function mutate<T>(
  { sendBy, deadlineMs }: SendWindow,
  call: (options: RequestOptions) => Promise<T>,
): Promise<Outcome<T>> {
  const { cancellationSignal: signal } = Context.current();
  return beating(async () => {
    try {
      return { kind: 'done', value: await call({ sendBy, deadlineMs, signal }) };
    } catch (error) {
      return toOutcome(error);
    }
  });
}

/** A call without effect: Temporal may try it again. */
async function read<T>(call: (options: RequestOptions) => Promise<T>): Promise<T> {
  try {
    return await call({ ...READ_LIMITS, signal: Context.current().cancellationSignal });
  } catch (error) {
    throw toReadFailure(error);
  }
}

/** A worker that is dead or frozen stops beating, and is known to be so well before the call's own deadline. */
async function beating<T>(work: () => Promise<T>): Promise<T> {
  const { heartbeatTimeoutMs } = activityInfo();
  if (heartbeatTimeoutMs === undefined) return work();
  const timer = setInterval(heartbeat, heartbeatTimeoutMs / 3);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
