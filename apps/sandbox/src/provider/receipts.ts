import { CURRENCIES, isCurrency, type Currency, type Instant } from '@tillflow/domain';
import { found, type ProviderContext } from './context.js';
import { dayOf, formatDay, monthAfter, startOf, type Day } from '../records/calendar.js';
import type { ReceiptRecord, TransactionRecord } from '../records/records.js';
import { pageOf } from '../records/table.js';

/** The fees and taxes of one transaction or of a month. A void returns those of its charge. */
type Fees = Pick<ReceiptRecord, 'chargeFee' | 'transactionFee' | 'transferFee' | 'voidedFee' | 'vat'>;

export type NewReceipt = Omit<ReceiptRecord, 'createdAt' | 'adjustment'> & {
  /** An additional credit, or a negative debit, in the smallest currency unit. */
  readonly adjustment: number;
};

const NO_FEES: Fees = { chargeFee: 0, transactionFee: 0, transferFee: 0, voidedFee: 0, vat: 0 };

/** The default customer of a receipt. */
export const RECEIPT_CUSTOMER = { customerName: 'Example Merchant', customerEmail: 'merchant@example.com' } as const;

/**
 * Statements of fees and taxes: one for each month in the account's currency, and one for each other currency in which
 * money moved, at 00:00 UTC of the first day of the next month. Source: assumption, "Receipts".
 */
export class Receipts {
  constructor(private readonly context: ProviderContext) {}

  /** Sets the timer of the present month. Each month sets the timer of the next one. */
  start(): void {
    this.#await(dayOf(this.context.now()));
  }

  /** @throws {ApiError} `not_found`. */
  receipt(id: string): ReceiptRecord {
    return found(this.context.records.receipts.get(id), 'receipt', id);
  }

  /** Also records the adjustment as a transaction, which the receipt names. */
  issue({ adjustment, ...receipt }: NewReceipt): ReceiptRecord {
    const { id, currency } = receipt;
    const direction = adjustment < 0 ? 'debit' : 'credit';
    const key = 'receipt.adjust';
    const transaction =
      adjustment === 0
        ? null
        : this.context.transact({ amount: Math.abs(adjustment), currency, direction, key, origin: id });
    const createdAt = this.context.now();
    return this.context.records.receipts.put({ ...receipt, createdAt, adjustment: transaction });
  }

  nextNumber(issuedOn: Day): string {
    const count = String(this.context.records.receipts.rows.length + 1).padStart(4, '0');
    return `${formatDay(issuedOn).slice(0, 7).replace('-', '')}-${count}`;
  }

  #await(day: Day): void {
    const end = monthAfter(day, 1);
    this.context.clock.at(startOf(end), () => {
      this.#closeMonth(monthAfter(day, 0), end);
      this.#await(end);
    });
  }

  #closeMonth(start: Day, end: Day): void {
    const { records, assumptions } = this.context;
    const month = { from: startOf(start), to: (startOf(end) - 1) as Instant };
    const { rows } = pageOf(records.transactions.rows, {
      ...month,
      offset: 0,
      limit: Infinity,
      order: 'chronological',
    });
    const sums = new Map<Currency, Fees>();
    if (isCurrency(assumptions.accountCurrency)) sums.set(assumptions.accountCurrency, NO_FEES);
    for (const transaction of rows) {
      sums.set(transaction.currency, add(sums.get(transaction.currency) ?? NO_FEES, this.#feesOf(transaction)));
    }
    for (const currency of CURRENCIES) {
      const fees = sums.get(currency);
      if (fees !== undefined) this.#issueFor(currency, fees, end);
    }
  }

  /** The merchant pays the withheld tax itself, so the provider returns it as the adjustment. */
  #issueFor(currency: Currency, fees: Fees, issuedOn: Day): void {
    const wht = Math.max(0, Math.floor((subtotalOf(fees) * this.context.assumptions.whtBasisPoints + 5_000) / 10_000));
    this.issue({
      id: this.context.id('rcpt'),
      number: this.nextNumber(issuedOn),
      issuedOn,
      currency,
      ...fees,
      wht,
      creditNote: subtotalOf(fees) < 0,
      ...RECEIPT_CUSTOMER,
      adjustment: wht,
    });
  }

  #feesOf({ key, origin }: TransactionRecord): Fees {
    const { charges, refunds, transfers } = this.context.records;
    const transfer = transfers.get(origin);
    if (transfer !== undefined) return { ...NO_FEES, transferFee: transfer.fee };
    const refund = refunds.get(origin);
    const charge = charges.get(refund?.chargeId ?? origin);
    if (charge === undefined) return NO_FEES;
    if (key === 'charge.capture') return { ...NO_FEES, chargeFee: charge.fee, vat: charge.feeVat };
    return refund?.voided === true ? { ...NO_FEES, voidedFee: charge.fee, vat: -charge.feeVat } : NO_FEES;
  }
}

/** Fees before tax. */
export function subtotalOf({ chargeFee, transactionFee, transferFee, voidedFee }: Fees): number {
  return chargeFee + transactionFee + transferFee - voidedFee;
}

function add(a: Fees, b: Fees): Fees {
  return {
    chargeFee: a.chargeFee + b.chargeFee,
    transactionFee: a.transactionFee + b.transactionFee,
    transferFee: a.transferFee + b.transferFee,
    voidedFee: a.voidedFee + b.voidedFee,
    vat: a.vat + b.vat,
  };
}
