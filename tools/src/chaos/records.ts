import type { SandboxState } from '@tillflow/sandbox';
import type { CheckoutMemo } from '@tillflow/workflows';
import {
  checkSettled,
  type Breach,
  type Findings,
  type Observation,
  type ProviderCharge,
} from '@tillflow/workflows/testing';

export const COMPARED_SECTIONS = ['charges', 'refunds', 'events', 'transactions', 'deliveries', 'requests'] as const;

/** The sandbox's records. */
export type ProviderRecords = Pick<SandboxState, 'now' | (typeof COMPARED_SECTIONS)[number]>;

/** What was seen of a checkout. `voidDateOffsetMinutes` is the setting of both Tillflow and the sandbox. */
export type SettledCheckout = Omit<Observation, 'now' | 'charges'> & {
  /** A call without an answer is not repeated sooner than this (milliseconds): until then it may be in flight. */
  readonly inFlightMs?: number;
};

/**
 * Compares a settled checkout with the sandbox's records: the oracle's checks, and those that need its HTTP records.
 */
export function compareRecords(records: ProviderRecords, checkout: SettledCheckout): Findings {
  const { memo } = checkout;
  const charges = chargesOf(records, memo.intent.id);
  const now = Date.parse(records.now);
  const findings = checkSettled({ ...checkout, now, charges });
  const breaches = [
    ...findings.breaches,
    ...repeatedWithoutLookup(records, checkout),
    ...lostPayments(records, charges, memo),
    ...unequalTransactions(records, charges, memo),
  ];
  return { checked: { ...findings.checked, 5: charges.filter(({ paidAt }) => paidAt !== null).length }, breaches };
}

/** The charges of a checkout, as the oracle reads them. */
export function chargesOf(records: Pick<ProviderRecords, 'charges' | 'refunds'>, checkoutId: string): ProviderCharge[] {
  return records.charges
    .filter(({ metadata }) => metadata['checkout'] === checkoutId)
    .map(({ id, status, paid_at }) => ({
      id,
      status,
      paidAt: paid_at === null ? null : Date.parse(paid_at),
      refunds: records.refunds
        .filter(({ charge }) => charge === id)
        .map((refund) => ({
          id: refund.id,
          amount: refund.amount,
          isVoid: refund.voided,
          key: textOf(refund.metadata, 'refund_key'),
          madeAt: Date.parse(refund.created_at),
        })),
    }));
}

/** A create is repeated only after a successful read of its record, and not while the first may be in flight. */
function* repeatedWithoutLookup(
  { requests }: ProviderRecords,
  { memo, inFlightMs = 0 }: SettledCheckout,
): Generator<Breach> {
  const breach = (what: string): Breach => ({ guarantee: 2, checkout: memo.intent.id, what });
  const firstTries = new Map<string, number>();
  for (const [index, { at, method, route, path, form }] of requests.entries()) {
    const isCharge = route === '/charges';
    if (method !== 'POST' || !(isCharge || route === '/charges/{id}/refunds')) continue;
    if (textOf(form?.['metadata'], 'checkout') !== memo.intent.id) continue;
    const key = (isCharge ? textOf(form, 'source') : textOf(form?.['metadata'], 'refund_key')) ?? '';
    const subject = `${path} ${key}`;
    const before = firstTries.get(subject);
    firstTries.set(subject, index);
    const first = before === undefined ? undefined : requests[before];
    if (before === undefined || first === undefined) continue;
    const record = isCharge ? `/sources/${key}` : path.replace(/\/refunds$/, '');
    const isRead = requests
      .slice(before + 1, index)
      .some((request) => request.method === 'GET' && request.path === record && request.status === 200);
    if (!isRead && first.status !== 429) yield breach(`POST ${subject} was repeated without a lookup`);
    const isUnanswered = first.status === null || first.status >= 500;
    const gapMs = Date.parse(at) - Date.parse(first.at);
    if (isUnanswered && gapMs < inFlightMs) yield breach(`POST ${subject} was repeated after ${gapMs} ms`);
  }
}

/** Tillflow knows a payment also when every webhook about it was lost. */
function* lostPayments(
  { events, deliveries }: ProviderRecords,
  charges: readonly ProviderCharge[],
  { intent, state }: CheckoutMemo,
): Generator<Breach> {
  for (const { id, status } of charges) {
    if (status !== 'successful') continue;
    const announced = new Set(
      events.filter(({ key, data }) => key === 'charge.complete' && data.id === id).map((event) => event.id),
    );
    const hasArrived = deliveries.some(
      (one) => announced.has(one.event) && one.status === 200 && !one.dropped && !one.corrupted,
    );
    const isKnown =
      state?.paid_at != null && state.attempts.some((one) => one.charge_id === id && one.status === 'successful');
    if (!hasArrived && !isKnown) {
      yield {
        guarantee: 5,
        checkout: intent.id,
        what: `${id} was paid, its webhooks were lost, and Tillflow does not show the payment`,
      };
    }
  }
}

/** Each payment is one credit and each refund one debit. */
function* unequalTransactions(
  { transactions }: ProviderRecords,
  charges: readonly ProviderCharge[],
  { intent }: CheckoutMemo,
): Generator<Breach> {
  const expected = charges.flatMap(({ id, status, refunds }) => [
    { id, moved: status === 'successful' ? 'credit charge.capture' : '' },
    ...refunds.map((refund) => ({ id: refund.id, moved: 'debit refund.create' })),
  ]);
  for (const { id, moved } of expected) {
    const found = transactions.filter(({ origin }) => origin === id).map(({ direction, key }) => `${direction} ${key}`);
    if (found.join(', ') !== moved) {
      yield { guarantee: 6, checkout: intent.id, what: `${id} moved money: ${found.join(', ')}` };
    }
  }
}

/** Metadata and forms contain any value that was sent. @returns null when the value is not text. */
function textOf(record: unknown, name: string): string | null {
  const value = typeof record === 'object' && record !== null ? (record as Record<string, unknown>)[name] : null;
  return typeof value === 'string' ? value : null;
}
