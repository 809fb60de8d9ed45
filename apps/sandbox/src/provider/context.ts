import { plus, type Instant, type Money } from '@tillflow/domain';
import { ApiError } from '../http/api-error.js';
import type { Assumptions } from '../assumptions.js';
import type { Clock } from '../clock.js';
import type { Random } from '../random.js';
import type { EventRecord, EventSubject } from '../records/events.js';
import type { AccountRecord, ChargeRecord, TransactionRecord } from '../records/records.js';
import { Records } from '../records/store.js';

export type ContextOptions = {
  readonly clock: Clock;
  readonly assumptions: Assumptions;
  readonly livemode: boolean;
  readonly webhookUri: string | null;
  /** Gets each new event, after its changes are recorded, with the charge that it concerns. */
  readonly onEvent: (event: EventRecord, charge: ChargeRecord | null) => void;
};

type Movement = Money & Pick<TransactionRecord, 'direction' | 'key' | 'origin'>;

/** What all parts of the provider share: records, time, ids, movements of money, and events. */
export class ProviderContext {
  records: Records;
  #random: Random;

  constructor(
    random: Random,
    private readonly options: ContextOptions,
  ) {
    this.#random = random;
    this.records = new Records(this.#newAccount());
  }

  get assumptions(): Assumptions {
    return this.options.assumptions;
  }

  get clock(): Clock {
    return this.options.clock;
  }

  /** Deletes all records. A new `random` starts the ids again. */
  reset(random: Random): void {
    this.#random = random;
    this.records = new Records(this.#newAccount());
  }

  now(): Instant {
    return this.options.clock.now();
  }

  /** In test mode a marker follows the prefix. Source: API reference, "Conventions". */
  id(prefix: string): string {
    return `${prefix}_${this.options.livemode ? '' : 'test_'}${this.#random.stream(prefix).letters(19)}`;
  }

  /** A secret part of an address. Anyone who has the address may open it. */
  token(): string {
    return this.#random.stream('token').letters(24);
  }

  transact(movement: Movement): TransactionRecord {
    const now = this.now();
    const transferableAt = plus(now, this.assumptions.transferableAfterMs);
    const { amount, currency, direction, key, origin } = movement;
    const id = this.id('trxn');
    return this.records.transactions.put({
      id,
      createdAt: now,
      amount,
      currency,
      direction,
      key,
      origin,
      transferableAt,
    });
  }

  emit(key: string, subject: EventSubject): void {
    const chargeId = chargeIdOf(subject);
    const event: EventRecord = { id: this.id('evnt'), createdAt: this.now(), key, chargeId, subject };
    this.records.addEvent(event);
    this.options.onEvent(event, chargeId === null ? null : (this.records.charges.get(chargeId) ?? null));
  }

  #newAccount(): AccountRecord {
    const letters = this.#random.stream('account');
    return {
      id: `account_${letters.letters(19)}`,
      team: `acct_${letters.letters(19)}`,
      user: `user_${letters.letters(19)}`,
      createdAt: this.now(),
      apiVersion: this.assumptions.accountVersion,
      chainEnabled: false,
      zeroInterestInstallments: false,
      chainReturnUri: null,
      webhookUri: this.options.webhookUri,
      metadataExportKeys: {},
    };
  }
}

/** @throws {ApiError} `not_found` when there is no such record. */
export function found<T>(record: T | undefined, kind: string, id: string): T {
  if (record === undefined) throw new ApiError('not_found', `No ${kind} ${id} was found.`);
  return record;
}

function chargeIdOf(subject: EventSubject): string | null {
  if (subject.object === 'charge') return subject.record.id;
  return subject.object === 'refund' ? subject.record.chargeId : null;
}
