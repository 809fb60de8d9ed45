import type { Client } from '@temporalio/client';
import type { DeliveryRecord } from '@tillflow/workflows';
import { decodeArrayFromPayloads } from '../connection/sdk-internals.js';
import { listPage, type ListedRun, type RunPage } from '../listed-runs.js';

/** The time for which deliveries are listed. Milliseconds. */
const LISTED_FOR_MS = 7 * 86_400_000;
/** The most runs that one request reads. Each is up to thousands of events. */
const MOST_RUNS = 5;

export type DeliveryPage = {
  readonly data: readonly DeliveryRecord[];
  /** Where the next page begins; null: the last page. */
  readonly next: string | null;
};

/** Bounds one call to Temporal. */
type BoundCall = <T>(call: () => Promise<T>) => Promise<T>;

/** Where a page begins. */
type Place = {
  readonly runId: string;
  /** The start of the run, in whole seconds since 1970 UTC. */
  readonly startedAt: number;
  /** The number of older records of the run. New records come after all others, so it counts from the oldest. */
  readonly end: number;
};

/**
 * The deliveries of an endpoint, the newest first. They are the results of activities in the histories of its runs, so
 * they need no other store. A page may have fewer than `limit`, or none, although others follow.
 * @param since the endpoint was created, in milliseconds since 1970 UTC: an earlier endpoint may have had its slot
 * @param place as an earlier page says; null: the first page
 */
export async function readDeliveries(
  client: Client,
  workflowId: string,
  { since, limit, place, bound }: { since: number; limit: number; place: string | null; bound: BoundCall },
): Promise<DeliveryPage> {
  const first = place === null ? null : parsePlace(place);
  const earliest = Math.max(since, Date.now() - LISTED_FOR_MS);
  const data: DeliveryRecord[] = [];
  let read = 0;
  for await (const { runId, startedAt, closedAt } of runsFrom(client, workflowId, first, bound)) {
    if (closedAt !== null && closedAt < earliest) break;
    const known = runId === first?.runId ? first.end : Number.POSITIVE_INFINITY;
    if (read === MOST_RUNS || data.length === limit) return { data, next: placeText({ runId, startedAt, end: known }) };
    read += 1;
    const all = await bound(() => recordsOf(client, workflowId, runId));
    const end = Math.min(known, all.length);
    const begin = Math.max(end - (limit - data.length), 0);
    const taken = all.slice(begin, end).toReversed();
    data.push(...taken.filter(({ at }) => at >= earliest));
    if (taken.some(({ at }) => at < earliest)) break;
    if (begin > 0) return { data, next: placeText({ runId, startedAt, end: begin }) };
  }
  return { data, next: null };
}

type Run = { readonly runId: string; readonly startedAt: number; readonly closedAt: number | null };

/** The runs of an endpoint, the newest first. @param first the run to begin with; null: the newest */
async function* runsFrom(
  client: Client,
  workflowId: string,
  first: Place | null,
  bound: BoundCall,
): AsyncGenerator<Run, void, undefined> {
  // In whole seconds: a database may store times as text, where fractions do not compare.
  const until = first === null ? '' : ` AND StartTime < '${new Date((first.startedAt + 1) * 1_000).toISOString()}'`;
  let isReached = first === null;
  let token: Uint8Array | null = null;
  do {
    const from: Uint8Array | null = token;
    const page: RunPage = await bound(() => listPage(client, `WorkflowId = '${workflowId}'${until}`, undefined, from));
    for (const run of page.runs.map(toRun)) {
      isReached ||= run.runId === first?.runId;
      if (isReached) yield run;
    }
    token = page.nextPageToken;
  } while (token !== null);
}

function toRun({ execution, startTime, closeTime }: ListedRun): Run {
  const closedAt = closeTime ? Number(closeTime.seconds) * 1_000 : null;
  return { runId: execution?.runId ?? '', startedAt: Number(startTime?.seconds ?? 0), closedAt };
}

function parsePlace(text: string): Place {
  const [runId = '', startedAt = '', end = ''] = text.split(' ');
  return { runId, startedAt: Number(startedAt), end: Number(end) };
}

function placeText({ runId, startedAt, end }: Place): string {
  return `${runId} ${startedAt} ${end}`;
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
