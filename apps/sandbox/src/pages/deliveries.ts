import { plus, type Instant } from '@tillflow/domain';
import type { Assumptions } from '../assumptions.js';
import type { DeliveryRecord } from '../records/records.js';
import { markup, type Markup } from './markup.js';
import { badge, counted } from './parts.js';

/** How far an event has come on its way to one address. */
export type Way = {
  readonly uri: string;
  readonly tries: number;
  readonly last: DeliveryRecord;
  readonly state: 'delivered' | 'waiting' | 'failed' | 'lost';
  /** Null when there will be none. */
  readonly nextTry: Instant | null;
};

export function waysOf(deliveries: readonly DeliveryRecord[], { webhookRetriesMs }: Assumptions): Way[] {
  const byUri = new Map<string, DeliveryRecord[]>();
  for (const delivery of deliveries) byUri.set(delivery.uri, [...(byUri.get(delivery.uri) ?? []), delivery]);
  return [...byUri].flatMap(([uri, tries]) => {
    const last = tries.findLast(({ duplicate }) => !duplicate) ?? tries.at(-1);
    if (last === undefined) return [];
    const wait = last.duplicate || last.dropped ? undefined : webhookRetriesMs[last.attempt - 1];
    const isDelivered = tries.some(isAcknowledged);
    const nextTry = wait === undefined || isAcknowledged(last) ? null : plus(last.createdAt, wait);
    const state = isDelivered ? 'delivered' : nextTry !== null ? 'waiting' : last.dropped ? 'lost' : 'failed';
    return [{ uri, tries: tries.length, last, state, nextTry } satisfies Way];
  });
}

/** In one line: the worst of an event's ways, and the number of tries. */
export function summaryOf(ways: readonly Way[]): Markup {
  const worst = (['failed', 'lost', 'waiting', 'delivered'] as const).find((state) =>
    ways.some((way) => way.state === state),
  );
  if (worst === undefined) return badge('none', 'not sent');
  const tries = ways.reduce((sum, way) => sum + way.tries, 0);
  return markup`${badge(worst === 'lost' ? 'failed' : worst, worst)} <span class="quiet">${counted(tries, 'try', 'tries')}</span>`;
}

/** What the receiver, or the way to it, answered. */
export function responseOf({ status, error }: DeliveryRecord): string {
  return status === null ? (error ?? 'no answer') : `HTTP ${status}`;
}

/** What the sandbox did to a delivery on purpose. */
export function mischiefOf(delivery: DeliveryRecord): string {
  const kinds = ['dropped', 'duplicate', 'reordered', 'corrupted'] as const;
  return kinds.filter((kind) => delivery[kind]).join(', ');
}

function isAcknowledged({ status }: DeliveryRecord): boolean {
  return status !== null && status >= 200 && status < 300;
}
