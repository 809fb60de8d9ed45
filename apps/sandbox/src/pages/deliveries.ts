import type { DeliveryRecord } from '../records/events.js';
import { markup, type Markup } from './markup.js';
import { badge, counted } from './parts.js';

type State = 'failed' | 'dropped' | 'waiting' | 'delivered';

/** One line about the webhooks of an event: the worst state of its addresses, and the number of tries. */
export function deliverySummary(deliveries: readonly DeliveryRecord[], retriesMs: readonly number[]): Markup {
  const byUri = new Map<string, DeliveryRecord[]>();
  for (const delivery of deliveries) byUri.set(delivery.uri, [...(byUri.get(delivery.uri) ?? []), delivery]);
  const states = new Set([...byUri.values()].map((tries) => stateOf(tries, retriesMs)));
  const worst = (['failed', 'dropped', 'waiting', 'delivered'] as const).find((state) => states.has(state));
  if (worst === undefined) return badge('none', 'not sent');
  const kind = worst === 'dropped' ? 'failed' : worst;
  return markup`${badge(kind, worst)} <span class="quiet">${counted(deliveries.length, 'try', 'tries')}</span>`;
}

/** @param tries of one address, at least one. */
function stateOf(tries: readonly DeliveryRecord[], retriesMs: readonly number[]): State {
  if (tries.some(({ status }) => status !== null && status >= 200 && status < 300)) return 'delivered';
  // A deliberate duplicate is never sent again.
  const last = tries.findLast(({ duplicate }) => !duplicate);
  if (last?.dropped === true) return 'dropped';
  return last !== undefined && retriesMs[last.attempt - 1] !== undefined ? 'waiting' : 'failed';
}
