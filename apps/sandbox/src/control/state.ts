import { formatInstant } from '@tillflow/domain';
import type { Clock } from '../clock.js';
import type { FaultAction, Faults, FaultState } from '../faults/faults.js';
import type { Provider } from '../provider/provider.js';
import type { CardRecord, DeliveryRecord, DocumentRecord, OccurrenceRecord } from '../records/records.js';
import type { Member } from '../http/json-stream.js';
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
import type { RequestRecord } from '../http/server.js';

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

/** A try to deliver an event, as the records show it. */
export type DeliveryJson = Omit<DeliveryRecord, 'createdAt' | 'eventId'> & {
  readonly event: string;
  readonly at: string;
};

/** The provider's records, each section in order of creation. */
export type SandboxState = {
  readonly now: string;
  readonly frozen: boolean;
  readonly seed: string;
  /** Requests that are no longer in `requests` because there were too many. */
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

/** The latest requests to the API. */
export class RequestLog {
  #requests: RequestRecord[] = [];
  #forgotten = 0;

  constructor(private readonly capacity: number) {}

  get requests(): readonly RequestRecord[] {
    return this.#requests;
  }

  get forgotten(): number {
    return this.#forgotten;
  }

  add(request: RequestRecord): void {
    this.#requests.push(request);
    if (this.#requests.length <= this.capacity) return;
    // Forgets half at once, so that remembering stays cheap.
    const forgotten = Math.ceil(this.#requests.length / 2);
    this.#requests = this.#requests.slice(forgotten);
    this.#forgotten += forgotten;
  }

  clear(): void {
    this.#requests = [];
    this.#forgotten = 0;
  }
}

/** A request that a fault struck, or a webhook that was tampered with on purpose. */
export type FaultLogEntry =
  | {
      readonly kind: 'request';
      readonly at: string;
      /** The `X-Request-Id` it was answered with, if it was. */
      readonly request: string;
      readonly method: string;
      readonly route: string | null;
      readonly path: string;
      readonly fault: { readonly id: number; readonly action: FaultAction };
      readonly status: number | null;
    }
  | {
      readonly kind: 'webhook';
      readonly at: string;
      readonly event: string;
      readonly key: string;
      readonly uri: string;
      readonly attempt: number;
      readonly faults: readonly ('drop' | 'duplicate' | 'reorder' | 'corrupt_signature' | 'delay_ms')[];
    };

/** Which fault hit what, in order of time. */
export function readFaultLog({ provider, log }: Pick<StateOptions, 'provider' | 'log'>): FaultLogEntry[] {
  const requests = log.requests.flatMap((request): FaultLogEntry[] => {
    const { id, at, method, route, path, status, fault: action, fault_id } = request;
    if (action === null || fault_id === null) return [];
    return [{ kind: 'request', at, request: id, method, route, path, fault: { id: fault_id, action }, status }];
  });
  const webhooks = provider.records.deliveries.rows.flatMap((delivery): FaultLogEntry[] => {
    const {
      createdAt,
      eventId: event,
      key,
      uri,
      attempt,
      dropped,
      duplicate,
      reordered,
      corrupted,
      delayed,
    } = delivery;
    const faults = [
      ...(dropped ? ['drop' as const] : []),
      ...(duplicate ? ['duplicate' as const] : []),
      ...(reordered ? ['reorder' as const] : []),
      ...(corrupted ? ['corrupt_signature' as const] : []),
      ...(delayed ? ['delay_ms' as const] : []),
    ];
    return faults.length === 0
      ? []
      : [{ kind: 'webhook', at: formatInstant(createdAt), event, key, uri, attempt, faults }];
  });
  // Both are in order; what is of the same instant stays in it.
  return [...requests, ...webhooks].toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
}

export type StateOptions = {
  readonly provider: Provider;
  readonly render: Renderer;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly log: RequestLog;
};

type ListSection = Exclude<Section, 'account'>;
type Rows = { readonly [S in ListSection]: () => Iterable<SandboxState[S][number]> };

/** Everything at this moment, or only the sections that are asked for. */
export function readState(options: StateOptions, sections: readonly Section[]): Omit<Partial<SandboxState>, 'seed'> {
  const { provider, render } = options;
  const rows = rowsOf(options);
  return {
    ...headOf(options),
    ...Object.fromEntries(
      sections.map((section) => [
        section,
        section === 'account' ? render.account(provider.records.account) : [...rows[section]()],
      ]),
    ),
  };
}

/**
 * The same, to be written row by row. What it tells is of this moment, however long the writing takes: records are
 * immutable, and the lists of them are copied here.
 */
export function stateMembers(options: StateOptions, seed: string, sections: readonly Section[]): Member[] {
  const { provider, render } = options;
  const rows = rowsOf(options);
  return [
    ['seed', seed],
    ...Object.entries(headOf(options)),
    ...sections.map((section): Member => {
      if (section === 'account') return [section, render.account(provider.records.account)];
      return { name: section, rows: rows[section]() };
    }),
  ];
}

function headOf({ clock, log }: StateOptions) {
  return { now: formatInstant(clock.tick()), frozen: clock.frozen, requests_forgotten: log.forgotten };
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

/** Each row of the list as it is now, made when it is taken. */
function each<T, J>(rows: readonly T[], render: (row: T) => J): Iterable<J> {
  const copy = rows.slice();
  return (function* () {
    for (const row of copy) yield render(row);
  })();
}

function deliveryJson({ createdAt, eventId, ...delivery }: DeliveryRecord): DeliveryJson {
  return { ...delivery, event: eventId, at: formatInstant(createdAt) };
}
