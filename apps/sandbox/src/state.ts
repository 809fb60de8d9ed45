import { formatInstant } from '@tillflow/domain';
import type { Clock } from './clock.js';
import type { Faults, FaultState } from './faults.js';
import type { Provider } from './provider.js';
import type { DeliveryRecord } from './records.js';
import type {
  AccountJson,
  ChargeJson,
  EventJson,
  RefundJson,
  Renderer,
  SourceJson,
  TransactionJson,
} from './render.js';
import type { RequestRecord } from './server.js';

export const SECTIONS = [
  'account',
  'sources',
  'charges',
  'refunds',
  'events',
  'transactions',
  'deliveries',
  'requests',
  'faults',
] as const;
export type Section = (typeof SECTIONS)[number];

/** A try to deliver an event, as the books show it. */
export type DeliveryJson = Omit<DeliveryRecord, 'createdAt' | 'eventId'> & {
  readonly event: string;
  readonly at: string;
};

/** The provider's books, each section in order of creation. */
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

export type StateOptions = {
  readonly provider: Provider;
  readonly render: Renderer;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly log: RequestLog;
};

/** Everything at this moment, or only the sections that are asked for. */
export function readState(options: StateOptions, sections: readonly Section[]): Omit<Partial<SandboxState>, 'seed'> {
  const { provider, render, clock, faults, log } = options;
  const now = clock.tick();
  const { books } = provider;
  const readers: { readonly [S in Section]: () => SandboxState[S] } = {
    account: () => render.account(books.account),
    sources: () => books.sources.rows.map((source) => render.source(source, provider.chargeOf(source))),
    charges: () => books.charges.rows.map((charge) => render.charge(charge, now)),
    refunds: () => books.refunds.rows.map((refund) => render.refund(refund)),
    events: () => books.events.rows.map((event) => render.event(event, books)),
    transactions: () => books.transactions.rows.map((transaction) => render.transaction(transaction)),
    deliveries: () => books.deliveries.rows.map(deliveryJson),
    requests: () => structuredClone(log.requests) as RequestRecord[],
    faults: () => faults.list(),
  };
  return {
    now: formatInstant(now),
    frozen: clock.frozen,
    requests_forgotten: log.forgotten,
    ...Object.fromEntries(sections.map((section) => [section, readers[section]()])),
  };
}

function deliveryJson({ createdAt, eventId, ...delivery }: DeliveryRecord): DeliveryJson {
  return { ...delivery, event: eventId, at: formatInstant(createdAt) };
}
