import { formatInstant, formatMoney, type Instant } from '@tillflow/domain';
import type { SearchAttributeUpdatePair } from '@temporalio/common';
import { setCurrentDetails, upsertMemo, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import { countChange } from './counting.js';
import { changedMemo } from './memo.js';
import type { CheckoutModel } from './model/checkout-model.js';
import { eventsBetween, FIRST_QR_WITHIN_MS } from './published-events.js';
import { changingAttributes, searchAttributes, slipAttributes } from './search-attributes.js';
import { toRefund, type CheckoutIntent, type CheckoutMemo, type CheckoutState, type TimelineEntry } from './types.js';

/** Timeline entries that are published although nothing else changed. */
const PUBLISHED_ALONE = new Set(['resolve', 'refund_refused', 'charge_not_ours', 'charge_not_shown', 'reopened']);

/**
 * Writes the memo that the API reads, the search attributes, and the details in the Temporal UI. Writes only what
 * changed, because each write is an event, and each write of search attributes is billed.
 */
export function publish(model: CheckoutModel, now: Instant): void {
  const state = model.projection(now);
  setCurrentDetails(detailsOf(model, state));
  if (isPublished(model, state)) return;
  const announced = announcedAttribute(state, now);
  // The feed finds the first QR code by the start of the workflow, unless it comes late.
  const isAnnounced = announced.length > 0 && model.isFollowed && (isPublishedBefore() || isLate(now));
  countChange(state, model.intent);
  const memo = changedMemo(model, state, now, publishedMemo());
  upsertMemo(memo);
  const changed = changedAttributes(model, state);
  // A charge's id is published with the next other change: operators search by it only after the end.
  const isNamed = hasNewSlip(state);
  const isFound = changed.some(({ key }) => key !== searchAttributes.chargeId);
  if (isNamed || isFound || isAnnounced) upsertSearchAttributes([...changed, ...announced]);
  model.wasPublished(memo.version);
}

/** The whole memo, with which the next run starts. The next run treats it as published. */
export function memoOf(model: CheckoutModel, now: Instant): Record<string, unknown> {
  const state = model.projection(now);
  countChange(state, model.intent);
  const before = publishedMemo();
  const memo = { ...before, ...changedMemo(model, state, now, before) };
  model.wasPublished(memo.version);
  return memo;
}

/** The search attributes, with which the next run starts. */
export function searchAttributesOf(model: CheckoutModel, now: Instant) {
  const state = model.projection(now);
  const pairs = [...changedAttributes(model, state), ...announcedAttribute(state, now)];
  return workflowInfo().typedSearchAttributes.updateCopy(pairs);
}

function publishedMemo(): CheckoutMemo | undefined {
  return workflowInfo().memo as CheckoutMemo | undefined;
}

/** The time of the newest event, when this state makes one. */
function announcedAttribute(state: CheckoutState, now: Instant): SearchAttributeUpdatePair[] {
  const memo = publishedMemo();
  const isEvent = eventsBetween(memo?.state, state, memo?.events).length > 0;
  return isEvent ? [{ key: searchAttributes.changedAt, value: new Date(now) }] : [];
}

function isPublishedBefore(): boolean {
  return publishedMemo()?.state !== undefined;
}

function isLate(now: Instant): boolean {
  return now - workflowInfo().startTime.getTime() > FIRST_QR_WITHIN_MS;
}

function isPublished(model: CheckoutModel, state: CheckoutState): boolean {
  const { state: published, timeline = [], refunds = [] } = publishedMemo() ?? {};
  // Until something is known, the API shows an empty checkout that is being created.
  if (published === undefined) return model.isJustOpened;
  return (
    isSame(publishedAlone(timeline), publishedAlone(model.timeline)) &&
    isSame({ ...published, updated_at: null }, { ...state, updated_at: null }) &&
    isSame(refunds.map(toRefund), model.refunds.map(toRefund))
  );
}

/** Whether the state has a slip reference that the search attributes lack: it came after the payment was published. */
function hasNewSlip(state: CheckoutState): boolean {
  const known = workflowInfo().typedSearchAttributes.get(searchAttributes.chargeId) ?? [];
  return slipAttributes(state).some((reference) => !known.includes(reference));
}

function publishedAlone(timeline: readonly TimelineEntry[]): readonly TimelineEntry[] {
  return timeline.filter(({ what }) => PUBLISHED_ALONE.has(what));
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function changedAttributes(model: CheckoutModel, state: CheckoutState): SearchAttributeUpdatePair[] {
  const known = workflowInfo().typedSearchAttributes;
  return changingAttributes(state, model.chargeIds).filter(({ key, value }) => !isSame(known.get(key) ?? null, value));
}

/** Markdown, one line for each fact. */
function detailsOf(model: CheckoutModel, state: CheckoutState): string {
  const { attempt, intent } = model;
  const { currency } = intent;
  const requestedBy = model.timeline.find(({ what }) => what === 'opened')?.by;
  const returned = state.refunded_amount;
  const lines = [
    `**${formatMoney(intent)}** for \`${intent.reference}\`: **${state.status}**`,
    ...(requestedBy === undefined ? [] : [`Requested by ${requestedBy}`]),
    ...placeOf(intent),
    attempt.chargeId === null
      ? `Attempt ${attempt.number}: no charge yet`
      : `Attempt ${attempt.number}: charge \`${attempt.chargeId}\` is ${attempt.status}`,
    ...(attempt.failureCode === null ? [] : [`Failure: ${attempt.failureCode} (${attempt.failureMessage ?? ''})`]),
    ...(state.paid_at === null ? [] : [`Paid at ${state.paid_at}`]),
    ...(returned === 0 ? [] : [`Refunded: ${formatMoney({ amount: returned, currency })}`]),
    ...model.refunds
      .filter(({ status }) => status === 'pending' || status === 'needs_approval')
      .map(
        ({ amount, key, status, requested_by: by }) =>
          `${status === 'pending' ? 'Pending refund' : 'Refund that needs approval'} of ${formatMoney({ amount, currency })}${by === undefined ? '' : ` by ${by}`}: \`${key}\``,
      ),
    ...(state.attention === null ? [] : [`**Attention** since ${state.attention.since}: ${state.attention.detail}`]),
    `Next: ${nextOf(model, state)}`,
  ];
  return lines.map((line) => `- ${line}`).join('\n');
}

function placeOf({ store, terminal }: CheckoutIntent): string[] {
  const name = store?.name ?? null;
  return [
    ...(store === undefined ? [] : [`Store \`${store.id}\`${name === null ? '' : ` (${name})`}`]),
    ...(terminal === null ? [] : [`Terminal \`${terminal}\``]),
  ];
}

function nextOf({ policy, expiresAt }: CheckoutModel, state: CheckoutState): string {
  switch (state.status) {
    case 'creating':
      return `create the source and the charge before ${formatInstant(expiresAt)}`;
    case 'awaiting_payment':
      return state.qr === null
        ? 'wait until the provider shows a final state, then close'
        : `wait for a webhook, retrieve the charge at least every ${policy.pollIntervalMs / 1_000} s, expire at ${formatInstant(expiresAt)}`;
    case 'paid':
    case 'partially_refunded':
    case 'refunded':
      return windowsIn(state);
    case 'failed':
    case 'expired':
    case 'cancelled':
      return state.paid_at === null ? 'stay open for a late payment, then close' : 'return the late payment';
  }
}

function windowsIn({ voidable_until: voidable, refundable_until: refundable }: CheckoutState): string {
  if (refundable === null) return 'close: the refund window is over';
  return `${voidable === null ? 'the void window is over' : `void until ${voidable}`}, refund until ${refundable}`;
}
