import { KEYS, type Answer, type Stack } from './stack.js';

/** Days from today as `YYYY-MM-DD`, by the provider's clock. */
export function dayFromNow(stack: Stack, days: number): string {
  return new Date(Date.parse(stack.sandbox.now()) + days * 86_400_000).toISOString().slice(0, 10);
}

/** As an operator. */
export function asOperator<T>(
  stack: Stack,
  method: string,
  path: string,
  options: { body?: unknown; headers?: Record<string, string> } = {},
): Promise<Answer<T>> {
  return stack.request<T>(method, path, { key: KEYS.ops, ...options });
}

export type SeededRecords = {
  readonly customer: string;
  readonly card: string;
  readonly dispute: string;
};

/** A customer with two cards, and an open dispute. */
export function seedRecords(stack: Stack): SeededRecords {
  const { customers, cards, disputes } = stack.sandbox.seedRecords({
    customers: [{ cards: [{ name: 'Somchai Prasert', city: 'Bangkok' }, { last_digits: '1111' }] }],
    disputes: [{}],
  });
  const [customer = '', card = '', dispute = ''] = [customers[0], cards[0], disputes[0]];
  return { customer, card, dispute };
}
