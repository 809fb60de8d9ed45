import type { Instant } from '@tillflow/domain';
import type { Outcome } from '../shared/outcome.js';
import { sendWindow } from '../shared/policy.js';
import type { ChargeFacts } from './activities.js';
import type { CheckoutInput } from './messages.js';
import { CheckoutModel } from './model/checkout-model.js';
import { DEFAULT_POLICY } from './policy.js';
import { eventsBetween } from './published-events.js';
import type { CheckoutMemo, CheckoutState } from './types.js';

/** What a checkout writes into its memo. @param memo as it is */
export function changedMemo(
  model: CheckoutModel,
  state: CheckoutState,
  now: Instant,
  memo: CheckoutMemo | undefined,
): Omit<CheckoutMemo, 'intent' | 'requestNonce'> & { readonly version: number } {
  const { refunds } = model;
  const { version: published } = model.state.published;
  // Readers may have seen version 1 with the QR code in the history (ADR 26). When a request or the time has withdrawn the
  // code before the first write, this write is a newer version. The event of the code stays that of version 1.
  const withdrawsShownQr = published === 0 && state.status === 'awaiting_payment' && state.qr === null;
  const events = eventsBetween(memo?.state, state, memo?.events).map((event) => [event, [published + 1, now]] as const);
  return {
    state,
    timeline: [...model.timeline],
    version: published + (withdrawsShownQr ? 2 : 1),
    ...(refunds.length > 0 ? { refunds } : {}),
    ...(events.length > 0 ? { events: { ...memo?.events, ...Object.fromEntries(events) } } : {}),
  };
}

/** The answer to a call, and the workflow's time when it got it. */
type Answered<T> = { readonly outcome: Outcome<T>; readonly at: Instant };

/** What the workflow of a new checkout knows when it gets the answer to its first charge. */
export type Opening = {
  /** As the workflow started with them. */
  readonly memo: CheckoutMemo;
  readonly input: CheckoutInput;
  /** The workflow's time in its first task. */
  readonly openedAt: Instant;
  /** Null: the request named the source. */
  readonly source: Answered<{ readonly sourceId: string }> | null;
  readonly charge: Answered<ChargeFacts>;
};

/**
 * The memo that the workflow will write when it processes this answer. The API computes it with the same model from the
 * facts in the history, so the till gets its QR code before the workflow has written it. Null when the workflow may
 * write another memo.
 */
export function openedMemo({ memo, input, openedAt, source, charge }: Opening): CheckoutMemo | null {
  if (input.intent !== undefined || input.resume !== undefined) return null;
  const policy = { ...DEFAULT_POLICY, ...input.policy };
  const model = CheckoutModel.open(memo.intent, policy, openedAt, input);
  if (source !== null) {
    if (stepOf(model, openedAt) !== 'createSource') return null;
    model.applySource(source.at, source.outcome);
  }
  const decidedAt = source?.at ?? openedAt;
  if (stepOf(model, decidedAt) !== 'createCharge') return null;
  model.applyCharge(charge.at, charge.outcome, sendWindow(policy, decidedAt).inFlightUntil);
  model.advanceTo(charge.at);
  if (model.status !== 'awaiting_payment') return null;
  return { ...memo, ...changedMemo(model, model.projection(charge.at), charge.at, memo) };
}

function stepOf(model: CheckoutModel, now: Instant): string {
  model.advanceTo(now);
  return model.nextStep(now).do;
}
