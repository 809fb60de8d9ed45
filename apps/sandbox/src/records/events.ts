import type { Instant } from '@tillflow/domain';
import type {
  CardRecord,
  ChargeRecord,
  CustomerRecord,
  DisputeRecord,
  OccurrenceRecord,
  RefundRecord,
  ScheduleRecord,
  TransferRecord,
} from './records.js';
import type { Page } from './table.js';

/** The record of an event as it was at that moment. */
export type EventSubject =
  | { readonly object: 'charge'; readonly record: ChargeRecord }
  | { readonly object: 'refund'; readonly record: RefundRecord }
  | { readonly object: 'card'; readonly record: CardRecord }
  | { readonly object: 'customer'; readonly record: CustomerRecord }
  | { readonly object: 'dispute'; readonly record: DisputeRecord }
  | { readonly object: 'transfer'; readonly record: TransferRecord }
  | {
      readonly object: 'schedule';
      readonly record: ScheduleRecord;
      /** Its first occurrences as they were. */
      readonly occurrences: Page<OccurrenceRecord>;
    };

export type EventRecord = {
  readonly id: string;
  readonly createdAt: Instant;
  /** The kind of event. Source: assumption, "Event kinds". */
  readonly key: string;
  /** The charge it concerns; null for events of other records. */
  readonly chargeId: string | null;
  readonly subject: EventSubject;
};

/** One try to deliver an event to one address. */
export type DeliveryRecord = {
  readonly id: string;
  readonly createdAt: Instant;
  readonly eventId: string;
  readonly key: string;
  readonly uri: string;
  /** 1 for the first try. */
  readonly attempt: number;
  /** HTTP status of the receiver; null without an answer. */
  readonly status: number | null;
  readonly error: string | null;
  /** The webhook faults that hit it. */
  readonly dropped: boolean;
  readonly duplicate: boolean;
  readonly reordered: boolean;
  readonly corrupted: boolean;
  readonly delayed: boolean;
};
