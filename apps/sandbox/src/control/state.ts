import { formatInstant } from '@tillflow/domain';
import type { Clock } from '../clock.js';
import type { RequestLog, RequestRecord } from '../api/request-log.js';
import type { Faults, FaultState } from '../faults/faults.js';
import type { Provider } from '../provider/provider.js';
import type { DeliveryRecord } from '../records/events.js';
import type { CardRecord, DocumentRecord, OccurrenceRecord } from '../records/records.js';
import { JsonStream, type Member } from '../http/answer.js';
import type {
  AccountJson,
  ChargeJson,
  EventJson,
  RefundJson,
  Renderer,
  SourceJson,
  TransactionJson,
} from '../api/render.js';
import type {
  CardJson,
  CustomerJson,
  DisputeJson,
  DocumentJson,
  OccurrenceJson,
  ReceiptJson,
  ScheduleJson,
  TransferJson,
} from '../api/render-records.js';

export const SECTIONS = [
  'account',
  'sources',
  'charges',
  'refunds',
  'events',
  'transactions',
  'customers',
  'cards',
  'disputes',
  'documents',
  'schedules',
  'occurrences',
  'transfers',
  'receipts',
  'deliveries',
  'requests',
  'faults',
] as const;
export type Section = (typeof SECTIONS)[number];

/** One try to deliver an event. */
export type DeliveryJson = Omit<DeliveryRecord, 'createdAt' | 'eventId'> & {
  readonly event: string;
  readonly at: string;
};

/** Everything in the sandbox, each section in order of creation. */
export type SandboxState = {
  readonly now: string;
  readonly frozen: boolean;
  readonly seed: string;
  /** How many requests are no longer in `requests`, because there were too many. */
  readonly requests_forgotten: number;
  readonly account: AccountJson;
  readonly sources: SourceJson[];
  readonly charges: ChargeJson[];
  readonly refunds: RefundJson[];
  readonly events: EventJson[];
  readonly transactions: TransactionJson[];
  readonly customers: CustomerJson[];
  /** Cards and documents of all customers and disputes that are not deleted. */
  readonly cards: CardJson[];
  readonly disputes: DisputeJson[];
  readonly documents: DocumentJson[];
  readonly schedules: ScheduleJson[];
  readonly occurrences: OccurrenceJson[];
  readonly transfers: TransferJson[];
  readonly receipts: ReceiptJson[];
  readonly deliveries: DeliveryJson[];
  readonly requests: RequestRecord[];
  readonly faults: FaultState[];
};

export type StateOptions = {
  readonly provider: Provider;
  readonly render: Renderer;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly log: RequestLog;
};

type ListSection = Exclude<Section, 'account'>;
type Rows = { readonly [S in ListSection]: () => Iterable<SandboxState[S][number]> };

/** The state at this moment, with the sections that are asked for. */
export function readState(options: StateOptions, seed: string, sections: readonly Section[]): Partial<SandboxState> {
  const members = membersOf(options, seed, sections).map((member) =>
    'rows' in member ? ([member.name, [...member.rows]] as const) : member,
  );
  return Object.fromEntries(members);
}

/**
 * The same, to be written row by row. The content is that of this moment, however long the writing takes: records are
 * immutable, and the lists of them are copied here.
 */
export function streamState(options: StateOptions, seed: string, sections: readonly Section[]): JsonStream {
  return new JsonStream(membersOf(options, seed, sections));
}

function membersOf(options: StateOptions, seed: string, sections: readonly Section[]): Member[] {
  const { clock, log, provider, render } = options;
  const rows = rowsOf(options);
  return [
    ['seed', seed],
    ['now', formatInstant(clock.tick())],
    ['frozen', clock.frozen],
    ['requests_forgotten', log.forgotten],
    ...sections.map((section): Member => {
      if (section === 'account') return [section, render.account(provider.records.account)];
      return { name: section, rows: rows[section]() };
    }),
  ];
}

function rowsOf({ provider, render, clock, faults, log }: StateOptions): Rows {
  const { records } = provider;
  const now = clock.tick();
  const documents = (): DocumentRecord[] => records.disputes.rows.flatMap((dispute) => dispute.documents);
  const cards = (): CardRecord[] => records.customers.rows.flatMap((customer) => customer.cards);
  const occurrences = (): OccurrenceRecord[] => [...records.occurrencesOf.values()].flatMap(({ rows }) => rows);
  return {
    sources: () => each(records.sources.rows, (source) => render.source(source, provider.payments.chargeOf(source))),
    charges: () => each(records.charges.rows, (charge) => render.charge(charge, now)),
    refunds: () => each(records.refunds.rows, (refund) => render.refund(refund)),
    events: () => {
      const { account } = records;
      const deliveriesOfEvent = new Map(records.deliveriesOfEvent);
      return each(records.events.rows, (event) => render.event(event, { account, deliveriesOfEvent }));
    },
    transactions: () => each(records.transactions.rows, (transaction) => render.transaction(transaction)),
    customers: () => each(records.customers.rows, (customer) => render.customer(customer, now)),
    cards: () => each(cards(), (card) => render.card(card)),
    disputes: () => each(records.disputes.rows, (dispute) => render.dispute(dispute, now)),
    documents: () => each(documents(), (document) => render.document(document)),
    schedules: () => each(records.schedules.rows, (schedule) => render.schedule(schedule, records, now)),
    occurrences: () => each(occurrences(), (occurrence) => render.occurrence(occurrence)),
    transfers: () => each(records.transfers.rows, (transfer) => render.transfer(transfer)),
    receipts: () => each(records.receipts.rows, (receipt) => render.receipt(receipt)),
    deliveries: () => each(records.deliveries.rows, deliveryJson),
    requests: () => each(log.requests, (request): RequestRecord => ({ ...request })),
    faults: () => faults.list(),
  };
}

/** Renders each row of the present list when it is taken. */
function each<T, J>(rows: readonly T[], render: (row: T) => J): Iterable<J> {
  const copy = rows.slice();
  return (function* () {
    for (const row of copy) yield render(row);
  })();
}

function deliveryJson({ createdAt, eventId, ...delivery }: DeliveryRecord): DeliveryJson {
  return { ...delivery, event: eventId, at: formatInstant(createdAt) };
}
