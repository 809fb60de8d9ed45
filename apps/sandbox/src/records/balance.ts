import type { Currency, Instant } from '@tillflow/domain';
import type { TransactionRecord } from './records.js';

/**
 * The transferable balance: credits whose `transferable_at` is past, less every debit. It reads each transaction once,
 * however often it is called.
 */
export class Balance {
  readonly #amounts = new Map<Currency, number>();
  #credits = 0;
  #debits = 0;

  /** @param transactions the growing list of all transactions, in the order of `transferable_at`. */
  constructor(private readonly transactions: readonly TransactionRecord[]) {}

  /** Smallest currency unit. Negative when the debits exceed the transferable credits. */
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
