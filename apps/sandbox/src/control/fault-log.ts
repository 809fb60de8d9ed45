import { formatInstant } from '@tillflow/domain';
import type { RequestRecord } from '../api/request-log.js';
import type { DeliveryRecord } from '../records/events.js';
import type { FaultAction } from '../faults/plan.js';

/** A request that a fault hit, or a webhook with a deliberate fault. */
export type FaultLogEntry =
  | {
      readonly kind: 'request';
      readonly at: string;
      /** The `X-Request-Id` of the answer. */
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
export function readFaultLog(
  requests: readonly RequestRecord[],
  deliveries: readonly DeliveryRecord[],
): FaultLogEntry[] {
  const ofRequests = requests.flatMap((request): FaultLogEntry[] => {
    const { id, at, method, route, path, status, fault: action, fault_id } = request;
    if (action === null || fault_id === null) return [];
    return [{ kind: 'request', at, request: id, method, route, path, fault: { id: fault_id, action }, status }];
  });
  const ofWebhooks = deliveries.flatMap((delivery): FaultLogEntry[] => {
    const { createdAt, eventId: event, key, uri, attempt } = delivery;
    const faults = [
      ...(delivery.dropped ? ['drop' as const] : []),
      ...(delivery.duplicate ? ['duplicate' as const] : []),
      ...(delivery.reordered ? ['reorder' as const] : []),
      ...(delivery.corrupted ? ['corrupt_signature' as const] : []),
      ...(delivery.delayed ? ['delay_ms' as const] : []),
    ];
    if (faults.length === 0) return [];
    return [{ kind: 'webhook', at: formatInstant(createdAt), event, key, uri, attempt, faults }];
  });
  // The sort is stable, so that entries of the same instant keep their order.
  return [...ofRequests, ...ofWebhooks].toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
}
