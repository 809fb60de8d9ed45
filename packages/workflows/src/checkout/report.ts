import { formatMoney, parseInstant, type Instant } from '@tillflow/domain';
import { setCurrentDetails, upsertMemo, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import { searchAttributes } from '../search-attributes.js';
import type { CheckoutMemo, CheckoutState } from '../view.js';
import type { CheckoutBook } from './book.js';

/**
 * Tells the world: the memo that the API reads, the search attributes, the details in the Temporal UI.
 * Writes only what changed, because each write is an event, and each attribute upsert is billed.
 */
export function report(book: CheckoutBook, now: Instant): void {
  const state = book.state(now);
  setCurrentDetails(details(book, state));
  const { memo } = workflowInfo();
  const told = (memo as CheckoutMemo | undefined)?.state;
  if (told !== undefined && sameButForTime(told, state)) return;
  upsertMemo({ state, timeline: [...book.timeline] });
  upsertChangedAttributes(state);
  book.wasReported();
}

function sameButForTime(a: CheckoutState, b: CheckoutState): boolean {
  return JSON.stringify({ ...a, updated_at: null }) === JSON.stringify({ ...b, updated_at: null });
}

/**
 * An open checkout was started as `awaiting_payment` and stays so until it ends: the step from `creating` is read
 * from the memo.
 */
function upsertChangedAttributes(state: CheckoutState): void {
  const known = workflowInfo().typedSearchAttributes;
  const status = state.status === 'creating' ? 'awaiting_payment' : state.status;
  const attention = state.attention?.code ?? null;
  const statusChanged = known.get(searchAttributes.status) !== status;
  if (!statusChanged && (known.get(searchAttributes.attention) ?? null) === attention) return;
  const charges = state.attempts.flatMap(({ charge_id }) => (charge_id === null ? [] : [charge_id]));
  upsertSearchAttributes([
    { key: searchAttributes.status, value: status },
    { key: searchAttributes.attention, value: attention },
    ...(charges.length > 0 ? [{ key: searchAttributes.chargeId, value: charges }] : []),
    ...(state.paid_at === null ? [] : [{ key: searchAttributes.paidAt, value: new Date(parseInstant(state.paid_at)) }]),
  ]);
}

function details(book: CheckoutBook, state: CheckoutState): string {
  const { attempt, intent } = book;
  const lines = [
    `**${formatMoney(intent)}** for \`${intent.reference}\`: **${state.status}**`,
    attempt.chargeId === null ? 'No charge yet' : `Charge \`${attempt.chargeId}\` is ${attempt.status}`,
    ...(attempt.failureCode === null ? [] : [`Failure: ${attempt.failureCode} (${attempt.failureMessage ?? ''})`]),
    ...(state.attention === null ? [] : [`**Attention** since ${state.attention.since}: ${state.attention.detail}`]),
    `Next: ${nextStep(book, state)}`,
  ];
  return lines.map((line) => `- ${line}`).join('\n');
}

function nextStep(book: CheckoutBook, state: CheckoutState): string {
  switch (state.status) {
    case 'creating':
      return `create the source and the charge, before ${book.attempt.expiresAt}`;
    case 'awaiting_payment':
      return state.qr === null
        ? 'wait for the provider to show a final state, then close'
        : `wait for a webhook, look at least every ${book.policy.pollIntervalMs / 1_000} s, expire at ${book.attempt.expiresAt}`;
    case 'paid':
    case 'partially_refunded':
    case 'refunded':
      return `void until ${state.voidable_until ?? 'never'}, refund until ${state.refundable_until ?? 'never'}`;
    case 'failed':
    case 'expired':
    case 'cancelled':
      return 'stay open for late news, then close';
  }
}
