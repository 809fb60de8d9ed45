import { formatInstant, formatMoney, plus, type Instant } from '@tillflow/domain';
import { ActivityFailure, ApplicationFailure, proxyActivities, TimeoutFailure } from '@temporalio/workflow';
import type { ChargeFacts, CreateChargeCall, CreateSourceCall, PaymentActivities, SendWindow } from '../activities.js';
import type { Outcome } from '../outcome.js';
import type { CheckoutBook } from './book.js';
import type { CheckoutPolicy } from './policy.js';

/** A dead worker is known after this long. */
const HEARTBEAT_TIMEOUT_MS = 6_000;
/** What a call may need beyond its own deadline to report back. */
const REPORT_MARGIN_MS = 5_000;

const provider = proxyActivities<PaymentActivities>({
  scheduleToCloseTimeout: '1 minute',
  retry: { maximumAttempts: 1 },
});

type MutatingOptions = Parameters<typeof provider.createSource.executeWithOptions>[0];

/** When a call decided now may still leave, and when nothing of it can be under way any more. */
export function sendWindow(policy: CheckoutPolicy, now: Instant): SendWindow & { readonly quietAt: Instant } {
  const sendBy = plus(now, policy.sendWithinMs);
  return {
    sendBy,
    deadlineMs: policy.callDeadlineMs,
    quietAt: plus(sendBy, policy.callDeadlineMs + policy.settleMs),
  };
}

export function createSource(book: CheckoutBook, window: SendWindow): Promise<Outcome<{ readonly sourceId: string }>> {
  const { amount, currency, terminal } = book.intent;
  const call: CreateSourceCall = { ...windowOf(window), amount, currency, terminal };
  return settled(
    provider.createSource.executeWithOptions(mutating(book, `Create a source of ${formatMoney(book.intent)}`), [call]),
  );
}

/** @param sourceId the source that the charge uses; the provider lets it serve one charge only (assumption). */
export function createCharge(book: CheckoutBook, sourceId: string, window: SendWindow): Promise<Outcome<ChargeFacts>> {
  const { id, amount, currency, description, metadata } = book.intent;
  const { number, expiresAt } = book.attempt;
  const call: CreateChargeCall = {
    ...windowOf(window),
    sourceId,
    amount,
    currency,
    description,
    metadata: { ...metadata, checkout: id, attempt: String(number) },
    expiresAt,
  };
  return settled(
    provider.createCharge.executeWithOptions(mutating(book, `Charge ${formatMoney(book.intent)} on ${sourceId}`), [
      call,
    ]),
  );
}

export function expireCharge(book: CheckoutBook, chargeId: string, window: SendWindow): Promise<Outcome<ChargeFacts>> {
  return settled(
    provider.expireCharge.executeWithOptions(mutating(book, `Expire ${chargeId}`), [{ ...windowOf(window), chargeId }]),
  );
}

/** Null when the provider could not be asked: look again later. */
export function retrieveCharge(chargeId: string): Promise<Look<ChargeFacts>> {
  return looked(provider.retrieveCharge.executeWithOptions(reading(`Look at ${chargeId}`), [{ chargeId }]));
}

/**
 * The charge of this attempt; `seen: null` when the provider says that there is none.
 * @param until it was made by then, if it was.
 */
export function findCharge(book: CheckoutBook, sourceId: string, until: Instant): Promise<Look<ChargeFacts | null>> {
  const call = {
    sourceId,
    checkoutId: book.intent.id,
    attempt: book.attempt.number,
    since: book.attempt.createdAt,
    until: formatInstant(until),
  };
  return looked(provider.findCharge.executeWithOptions(reading(`Look for the charge on ${sourceId}`), [call]));
}

/** What a read saw, or why it saw nothing. */
export type Look<T> = { readonly seen: T } | { readonly unseen: string };

function windowOf({ sendBy, deadlineMs }: SendWindow): SendWindow {
  return { sendBy, deadlineMs };
}

function mutating({ policy }: CheckoutBook, summary: string): MutatingOptions {
  return {
    summary,
    scheduleToCloseTimeout: policy.sendWithinMs + policy.callDeadlineMs + REPORT_MARGIN_MS,
    heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
    retry: { maximumAttempts: 1 },
  };
}

function reading(summary: string): MutatingOptions {
  return {
    summary,
    startToCloseTimeout: '20 seconds',
    scheduleToCloseTimeout: '45 seconds',
    retry: { initialInterval: '500 milliseconds', maximumInterval: '5 seconds', maximumAttempts: 3 },
  };
}

/** An activity that did not answer may or may not have had its effect. */
async function settled<T>(call: Promise<Outcome<T>>): Promise<Outcome<T>> {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    return { kind: 'unknown', ...causeOf(error) };
  }
}

async function looked<T>(read: Promise<T>): Promise<Look<T>> {
  try {
    return { seen: await read };
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    const { code, message } = causeOf(error);
    return { unseen: `${code}: ${message}` };
  }
}

function causeOf(failure: ActivityFailure): { code: string; message: string } {
  const { cause } = failure;
  if (cause instanceof TimeoutFailure) return { code: 'worker_silent', message: `no answer (${cause.timeoutType})` };
  if (cause instanceof ApplicationFailure) return { code: cause.type ?? 'activity_failed', message: cause.message };
  return { code: 'activity_failed', message: failure.message };
}
