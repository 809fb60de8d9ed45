import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { executionInfoFromRaw } from './connection/sdk-internals.js';
import { UnreadablePayloadError } from './encryption/encryption-codec.js';

/** A run as Temporal's lists return it. */
export type ListedRun = WorkflowExecutionInfo['raw'];

export type RunPage = { readonly runs: readonly ListedRun[]; readonly nextPageToken: Uint8Array | null };

/** Receives each run whose payloads cannot be decrypted; the run is left out. */
export type OnUnreadable = (workflowId: string, error: UnreadablePayloadError) => void;

/** Bounds one call to Temporal. */
type BoundCall = <T>(call: () => Promise<T>) => Promise<T>;

/** Temporal's own limit of a page. */
const MAX_PAGE_SIZE = 1_000;
/** One search names at most this many workflows. */
export const MAX_WORKFLOWS = 200;
/** The number of Temporal's `WORKFLOW_EXECUTION_STATUS_RUNNING`. */
export const RUNNING = 1;

/** One page in the server's order: open runs first, then closed ones, the newest first in each. */
export async function listPage(
  client: Client,
  query: string,
  pageSize = MAX_PAGE_SIZE,
  pageToken: Uint8Array | null = null,
): Promise<RunPage> {
  const { executions, nextPageToken } = await client.workflowService.listWorkflowExecutions({
    namespace: client.options.namespace,
    query,
    pageSize,
    ...(pageToken === null ? {} : { nextPageToken: pageToken }),
  });
  return { runs: executions, nextPageToken: nextPageToken.length > 0 ? nextPageToken : null };
}

/** Every run that a search finds. @param bound bounds each call; absent: the calls are not bounded. */
export async function listRuns(
  client: Client,
  query: string,
  bound: BoundCall = (call) => call(),
): Promise<ListedRun[]> {
  const runs: ListedRun[] = [];
  let pageToken: Uint8Array | null = null;
  do {
    const token: Uint8Array | null = pageToken;
    const page: RunPage = await bound(() => listPage(client, query, MAX_PAGE_SIZE, token));
    runs.push(...page.runs);
    pageToken = page.nextPageToken;
  } while (pageToken !== null);
  return runs;
}

/** A run as Temporal's client returns it. */
type DecodedRun = Omit<WorkflowExecutionInfo, 'raw'>;

/** Decodes one run. @throws {UnreadablePayloadError} */
export function decodeRun(client: Client, run: ListedRun): Promise<DecodedRun> {
  const { namespace, loadedDataConverter } = client.options;
  return executionInfoFromRaw(run, loadedDataConverter, undefined, namespace);
}

/** Decodes a run without its memo, so that a memo that cannot be decrypted does not hide the run. */
export function decodeRunWithoutMemo(client: Client, run: ListedRun): Promise<DecodedRun> {
  // In place: fields that the server left out are on the prototype.
  run.memo = null;
  return decodeRun(client, run);
}

/** Decodes runs, and leaves out those that cannot be decrypted. */
export async function decodeRuns(
  client: Client,
  runs: readonly ListedRun[],
  onUnreadable: OnUnreadable,
): Promise<DecodedRun[]> {
  const decoded: DecodedRun[] = [];
  for (const run of runs) {
    try {
      decoded.push(await decodeRun(client, run));
    } catch (error) {
      if (!(error instanceof UnreadablePayloadError)) throw error;
      onUnreadable(run.execution?.workflowId ?? '', error);
    }
  }
  return decoded;
}

/**
 * The runs of a list whose checkout was reopened later, so that their memo is out of date. A page without closed runs
 * costs nothing, any other page one more search.
 */
export async function replacedRuns(client: Client, listed: readonly ListedRun[]): Promise<ReadonlySet<string>> {
  const closed = listed.filter(({ status }) => Number(status) !== RUNNING);
  const ids = [...new Set(closed.map(({ execution }) => execution?.workflowId ?? ''))];
  const all: ListedRun[] = [];
  for (let start = 0; start < ids.length; start += MAX_WORKFLOWS) {
    const named = ids.slice(start, start + MAX_WORKFLOWS).map((id) => `'${id}'`);
    const query = `WorkflowId IN (${named.join(', ')}) AND ExecutionStatus != 'ContinuedAsNew'`;
    // One page is more than all runs of these checkouts, except for checkouts that were reopened many times.
    all.push(...(await listPage(client, query)).runs);
  }
  return olderRuns(closed, all);
}

/** The runs of `listed` that began before another run of the same workflow in `all`. */
export function olderRuns(listed: readonly ListedRun[], all: readonly ListedRun[]): ReadonlySet<string> {
  const newest = new Map<string, { readonly runId: string; readonly at: number }>();
  for (const { execution, startTime } of all) {
    const { workflowId, runId } = execution ?? {};
    const at = Number(startTime?.seconds ?? 0) + (startTime?.nanos ?? 0) / 1e9;
    if (typeof workflowId !== 'string' || typeof runId !== 'string') continue;
    if (at >= (newest.get(workflowId)?.at ?? 0)) newest.set(workflowId, { runId, at });
  }
  const isReplaced = ({ execution }: ListedRun): boolean => {
    const known = newest.get(execution?.workflowId ?? '');
    return known !== undefined && known.runId !== execution?.runId;
  };
  return new Set(listed.filter(isReplaced).map(({ execution }) => execution?.runId ?? ''));
}
