import type { Client } from '@temporalio/client';
import type { DeliveryRecord } from '@tillflow/workflows';
import { decodeArrayFromPayloads } from '../connection/sdk-internals.js';
import { listPage } from '../listed-runs.js';

/** Deliveries are listed for so long. Milliseconds. */
const LISTED_FOR_MS = 7 * 86_400_000;

export type DeliveryPage = {
  readonly data: readonly DeliveryRecord[];
  /** Where the next page begins; null: the last page. */
  readonly next: string | null;
};

/** Bounds one call to Temporal. */
type BoundCall = <T>(call: () => Promise<T>) => Promise<T>;

/**
 * The deliveries of an endpoint, the newest first. They are the results of activities in the histories of its runs, so
 * they need no other store.
 * @param since the endpoint was created, in milliseconds since 1970 UTC: an earlier endpoint may have had its slot
 * @param place as an earlier page says; null: the first page
 */
export async function readDeliveries(
  client: Client,
  workflowId: string,
  { since, limit, place, bound }: { since: number; limit: number; place: string | null; bound: BoundCall },
): Promise<DeliveryPage> {
  const { runs } = await bound(() => listPage(client, `WorkflowId = '${workflowId}'`));
  const earliest = Math.max(since, Date.now() - LISTED_FOR_MS);
  const [firstRun = null, firstEnd = ''] = place === null ? [] : place.split(' ');
  const data: DeliveryRecord[] = [];
  let isReached = firstRun === null;
  for (const { execution, closeTime } of runs) {
    const runId = execution?.runId ?? '';
    isReached ||= runId === firstRun;
    if (!isReached) continue;
    if (closeTime && Number(closeTime.seconds) * 1_000 < earliest) break;
    const all = await bound(() => recordsOf(client, workflowId, runId));
    // New records come after all others, so a place counts from the oldest.
    const end = runId === firstRun ? Number(firstEnd) : all.length;
    const begin = Math.max(end - (limit - data.length), 0);
    const taken = all.slice(begin, end).toReversed();
    data.push(...taken.filter(({ at }) => at >= earliest));
    if (taken.some(({ at }) => at < earliest)) return { data, next: null };
    if (data.length === limit && begin > 0) return { data, next: `${runId} ${begin}` };
  }
  return { data, next: null };
}

/** The records of one run, the oldest first. */
async function recordsOf(client: Client, workflowId: string, runId: string): Promise<DeliveryRecord[]> {
  const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  const results = (events ?? []).flatMap(({ activityTaskCompletedEventAttributes: completed }) =>
    completed?.result ? [completed.result] : [],
  );
  const decoded = await Promise.all(
    results.map(({ payloads }) => decodeArrayFromPayloads(client.options.loadedDataConverter, payloads)),
  );
  return decoded.flatMap(([result]) => (Array.isArray(result) ? (result as unknown[]) : [result])).filter(isRecord);
}

/** Other activities of an endpoint have other results. */
function isRecord(result: unknown): result is DeliveryRecord {
  return typeof result === 'object' && result !== null && Object.hasOwn(result, 'tries') && Object.hasOwn(result, 'ms');
}
