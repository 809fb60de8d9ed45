import { formatInstant, formatMoney, parseInstant, type Instant } from '@tillflow/domain';
import type { SearchAttributeUpdatePair } from '@temporalio/common';
import { setCurrentDetails, upsertMemo, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import type { CheckoutModel } from './model/checkout-model.js';
import { searchAttributes } from './search-attributes.js';
import { toRefund, type CheckoutMemo, type CheckoutState, type StoredRefund, type TimelineEntry } from './types.js';

/** Entries of the timeline that are worth telling although nothing else changed. */
const WORTH_TELLING = new Set(['resolve', 'refund_refused', 'charge_not_ours', 'charge_not_shown', 'reopened']);

/**
 * Tells the world: the memo that the API reads, the search attributes, the details in the Temporal UI.
 * Writes only what changed, because each write is an event, and each attribute upsert is billed.
 */
export function report(model: CheckoutModel, now: Instant): void {
  const state = model.projection(now);
  setCurrentDetails(details(model, state));
  if (isTold(model, state)) return;
  upsertMemo(told(model, state));
  upsertChangedAttributes(model, state);
  model.wasPublished();
}

/** The whole memo, for the next run: from then on it is what the world was told. */
export function tell(model: CheckoutModel, now: Instant): Record<string, unknown> {
  const memo = { ...workflowInfo().memo, ...told(model, model.projection(now)) };
  model.wasPublished();
  return memo;
}

/** The search attributes with which the next run starts. */
export function attributesOf(model: CheckoutModel, now: Instant) {
  return workflowInfo().typedSearchAttributes.updateCopy(changedAttributes(model, model.projection(now)));
}

function told(model: CheckoutModel, state: CheckoutState): Omit<CheckoutMemo, 'intent' | 'requestNonce'> {
  const { refunds } = model;
  return {
    state,
    timeline: [...model.timeline],
    version: model.state.published.version + 1,
    ...(refunds.length > 0 ? { refunds } : {}),
  };
}

function isTold(model: CheckoutModel, state: CheckoutState): boolean {
  const memo = workflowInfo().memo as CheckoutMemo | undefined;
  const { state: toldState, timeline = [], refunds = [] } = memo ?? {};
  // Until there is something to tell, whoever asks sees an empty checkout that is being created.
  if (toldState === undefined && model.isJustOpened) return true;
  if (toldState === undefined) return false;
  if (!isSame(worthTelling(timeline), worthTelling(model.timeline))) return false;
  return (
    isSame({ ...toldState, updated_at: null }, { ...state, updated_at: null }) &&
    isSame(shown(refunds), shown(model.refunds))
  );
}

/** An older release told less of a refund than is acceptedCharge now: what it left out is no news, and would not replay. */
function shown(refunds: readonly StoredRefund[]) {
  return refunds.map(toRefund);
}

function worthTelling(timeline: readonly TimelineEntry[]): readonly TimelineEntry[] {
  return timeline.filter(({ what }) => WORTH_TELLING.has(what));
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function upsertChangedAttributes(model: CheckoutModel, state: CheckoutState): void {
  const changed = changedAttributes(model, state);
  // Which charges there are is told with the end: before it, no one searches by them.
  if (changed.some(({ key }) => key !== searchAttributes.chargeId)) upsertSearchAttributes(changed);
}

/**
 * An open checkout was started as `awaiting_payment` and stays so until it ends: the step from `creating` is read
 * from the memo.
 */
function changedAttributes(model: CheckoutModel, state: CheckoutState): SearchAttributeUpdatePair[] {
  const known = workflowInfo().typedSearchAttributes;
  const { chargeIds } = model;
  const status = state.status === 'creating' ? 'awaiting_payment' : state.status;
  const wanted: SearchAttributeUpdatePair[] = [
    { key: searchAttributes.status, value: status },
    { key: searchAttributes.attention, value: state.attention?.code ?? null },
    { key: searchAttributes.chargeId, value: chargeIds.length === 0 ? null : chargeIds },
    { key: searchAttributes.paidAt, value: dateOf(state.paid_at) },
  ];
  return wanted.filter(({ key, value }) => !isSame(known.get(key) ?? null, value));
}

function dateOf(text: string | null): Date | null {
  return text === null ? null : new Date(parseInstant(text));
}

function details(model: CheckoutModel, state: CheckoutState): string {
  const { attempt, intent } = model;
  const { currency } = intent;
  const askedBy = model.timeline.find(({ what }) => what === 'opened')?.by;
  const given = state.refunded_amount;
  const lines = [
    `**${formatMoney(intent)}** for \`${intent.reference}\`: **${state.status}**`,
    ...(askedBy === undefined ? [] : [`Asked for by ${askedBy}`]),
    attempt.chargeId === null
      ? `Attempt ${attempt.number}: no charge yet`
      : `Attempt ${attempt.number}: charge \`${attempt.chargeId}\` is ${attempt.status}`,
    ...(attempt.failureCode === null ? [] : [`Failure: ${attempt.failureCode} (${attempt.failureMessage ?? ''})`]),
    ...(state.paid_at === null ? [] : [`Paid at ${state.paid_at}`]),
    ...(given === 0 ? [] : [`Given back: ${formatMoney({ amount: given, currency })}`]),
    ...model.refunds
      .filter(({ status }) => status === 'pending')
      .map(
        ({ amount, key, requested_by: by }) =>
          `Refund of ${formatMoney({ amount, currency })}${byWhom(by)} under way: \`${key}\``,
      ),
    ...(state.attention === null ? [] : [`**Attention** since ${state.attention.since}: ${state.attention.detail}`]),
    `Next: ${nextStep(model, state)}`,
  ];
  return lines.map((line) => `- ${line}`).join('\n');
}

function byWhom(by: string | undefined): string {
  return by === undefined ? '' : ` by ${by}`;
}

function nextStep(model: CheckoutModel, state: CheckoutState): string {
  switch (state.status) {
    case 'creating':
      return `create the source and the charge, before ${formatInstant(model.expiresAt)}`;
    case 'awaiting_payment':
      return state.qr === null
        ? 'wait for the provider to show a final state, then close'
        : `wait for a webhook, look at least every ${model.policy.pollIntervalMs / 1_000} s, expire at ${formatInstant(model.expiresAt)}`;
    case 'paid':
    case 'partially_refunded':
    case 'refunded':
      return windows(state);
    case 'failed':
    case 'expired':
    case 'cancelled':
      return state.paid_at === null ? 'stay open for late news, then close' : 'give the late payment back';
  }
}

function windows({ voidable_until: voidable, refundable_until: refundable }: CheckoutState): string {
  if (refundable === null) return 'close: no refund is possible any more';
  return `${voidable === null ? 'no void any more' : `void until ${voidable}`}, refund until ${refundable}`;
}
