import { Balance } from './balance.js';
import type { DeliveryRecord, EventRecord } from './events.js';
import type {
  AccountRecord,
  ChargeRecord,
  CustomerRecord,
  DisputeRecord,
  DocumentRecord,
  OccurrenceRecord,
  ReceiptRecord,
  RefundRecord,
  ScheduleRecord,
  SourceRecord,
  TransactionRecord,
  TransferRecord,
} from './records.js';
import { Table } from './table.js';

/** Everything that the provider knows. A reset makes a new one. */
export class Records {
  readonly sources = new Table<SourceRecord>();
  readonly charges = new Table<ChargeRecord>();
  readonly refunds = new Table<RefundRecord>();
  readonly events = new Table<EventRecord>();
  readonly deliveries = new Table<DeliveryRecord>();
  readonly transactions = new Table<TransactionRecord>();
  readonly customers = new Table<CustomerRecord>();
  readonly disputes = new Table<DisputeRecord>();
  readonly schedules = new Table<ScheduleRecord>();
  readonly chargeSchedules = new Table<ScheduleRecord>();
  readonly transferSchedules = new Table<ScheduleRecord>();
  readonly occurrencesOf = new Map<string, Table<OccurrenceRecord>>();
  readonly transfers = new Table<TransferRecord>();
  readonly balance = new Balance(this.transactions.rows);
  readonly receipts = new Table<ReceiptRecord>();
  /** Dispute documents by the token of their download address. */
  readonly downloads = new Map<string, DocumentRecord>();
  /** Charge ids by the token of their QR code. */
  readonly tokens = new Map<string, string>();
  /** Events of each charge and deliveries of each event, in order of creation. */
  readonly eventsOfCharge = new Map<string, readonly EventRecord[]>();
  readonly deliveriesOfEvent = new Map<string, readonly DeliveryRecord[]>();

  constructor(public account: AccountRecord) {}

  addEvent(event: EventRecord): void {
    this.events.put(event);
    if (event.chargeId !== null) append(this.eventsOfCharge, event.chargeId, event);
  }

  addDelivery(delivery: DeliveryRecord): void {
    this.deliveries.put(delivery);
    append(this.deliveriesOfEvent, delivery.eventId, delivery);
  }
}

/**
 * Replaces the list instead of growing it: there are many short lists, and a growing array takes ten times the memory.
 */
function append<T>(lists: Map<string, readonly T[]>, key: string, value: T): void {
  lists.set(key, [...(lists.get(key) ?? []), value]);
}
