import { setTimeout } from 'node:timers/promises';
import { KEYS, type Answer, type Stack } from './stack.js';

/** Days from today as `YYYY-MM-DD`, by the provider's clock. */
export function dayFromNow(stack: Stack, days: number): string {
  return new Date(Date.parse(stack.sandbox.now()) + days * 86_400_000).toISOString().slice(0, 10);
}

/** Times that a change of the account is requested while one of another spec is in progress, and the pause between. */
const ACCOUNT_TRIES = 100;
const ACCOUNT_PAUSE_MS = 200;

/**
 * As an operator. All specs share one Temporal server, where a change of the account has the same workflow id in each of
 * them. So it waits until no other spec changes the account.
 */
export async function asOperator<T>(
  stack: Stack,
  method: string,
  path: string,
  options: { body?: unknown; headers?: Record<string, string> } = {},
): Promise<Answer<T>> {
  for (let tries = 1; ; tries += 1) {
    const answer = await stack.request<T>(method, path, { key: KEYS.ops, ...options });
    if (answer.status !== 409 || !path.startsWith('/v1/account') || tries === ACCOUNT_TRIES) return answer;
    await setTimeout(ACCOUNT_PAUSE_MS);
  }
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
