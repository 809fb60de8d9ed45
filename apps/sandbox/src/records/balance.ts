import type { Currency, Instant } from '@tillflow/domain';
import type { TransactionRecord } from './records.js';

/**
 * What may be transferred to the merchant: credits whose `transferable_at` has come, less every debit. Each transaction
 * is looked at once, however often the balance is asked for.
 */
export class Balance {
  readonly #amounts = new Map<Currency, number>();
  #credits = 0;
  #debits = 0;

  /** @param transactions the growing list of all of them, in the order in which they become transferable. */
  constructor(private readonly transactions: readonly TransactionRecord[]) {}

  /** Smallest currency unit; negative when more was paid back than has become transferable. */
  transferable(currency: Currency, now: Instant): number {
    for (; this.#debits < this.transactions.length; this.#debits += 1) this.#add(this.#debits, 'debit', -1);
    while ((this.transactions[this.#credits]?.transferableAt ?? Infinity) <= now) {
      this.#add(this.#credits, 'credit', 1);
      this.#credits += 1;
    }
    return this.#amounts.get(currency) ?? 0;
  }

  #add(index: number, direction: TransactionRecord['direction'], sign: 1 | -1): void {
    const transaction = this.transactions[index];
    if (transaction?.direction !== direction) return;
    const { currency, amount } = transaction;
    this.#amounts.set(currency, (this.#amounts.get(currency) ?? 0) + sign * amount);
  }
}
