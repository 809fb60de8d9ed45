import { activityInfo, Context, heartbeat } from '@temporalio/activity';
import { isGrpcServiceError, ServiceError, WorkflowNotFoundError, type Client } from '@temporalio/client';
import { formatInstant, instant, plus } from '@tillflow/domain';
import { PaymentsError, type PaymentsClient } from '@tillflow/payments-client';
import { eventTails, type EventTailActivities, type EventTailMemo } from '@tillflow/workflows';
import type { WorkerSettings } from '../settings.js';
import { TailCheckouts } from './checkouts.js';
import { Delivery } from './delivery.js';
import { KnownEvents } from './known-events.js';
import { Pass, type Progress } from './pass.js';

/** Some hours of a busy account; about 2 MB. */
const KNOWN_EVENTS = 20_000;
/** Runs of earlier tails that are looked through. */
const RECALLED = 20;

export type EventTailParts = {
  readonly client: Client;
  readonly provider: PaymentsClient;
  /** Whether the provider's key is a live one. */
  readonly livemode: boolean;
  readonly settings: Pick<
    WorkerSettings,
    'TEMPORAL_TASK_QUEUE' | 'EVENT_TAIL_INTERVAL_MS' | 'EVENT_TAIL_OVERLAP_MS' | 'EVENT_TAIL_LOOKBACK_MS'
  >;
};

/** The activities of the event tail. */
export function eventTailActivities({ client, provider, livemode, settings }: EventTailParts): EventTailActivities {
  const known = new KnownEvents(KNOWN_EVENTS);
  const checkouts = new TailCheckouts(client, settings.TEMPORAL_TASK_QUEUE);
  return {
    recallTail: () => recallTail(client, settings.TEMPORAL_TASK_QUEUE),

    async readEvents({ watermark, retries }) {
      const { cancellationSignal: signal } = Context.current();
      const begun = (activityInfo().heartbeatDetails as Progress | undefined) ?? null;
      // The first tail begins with what is recent: pinned now, so that a pause at the start skips nothing.
      const first = formatInstant(plus(instant(Date.now()), -settings.EVENT_TAIL_LOOKBACK_MS));
      const delivery = new Delivery(checkouts, provider, livemode, signal);
      const overlapMs = settings.EVENT_TAIL_OVERLAP_MS;
      const pass = new Pass({ provider, checkouts, delivery, known, overlapMs, signal }, watermark ?? first, begun);
      const read = await beating(pass, async () => {
        try {
          await pass.run(retries);
          return pass.progress;
        } catch (error) {
          return { ...pass.progress, failure: failureOf(error) };
        }
      });
      return { ...read, intervalMs: settings.EVENT_TAIL_INTERVAL_MS };
    },
  };
}

/** The newest run but its own: what a tail says last, it says in its newest run. */
async function recallTail(client: Client, taskQueue: string): Promise<EventTailMemo | null> {
  const own = activityInfo().workflowExecution?.runId;
  let left = RECALLED;
  for await (const { workflowId, runId } of client.workflow.list({ query: eventTails(taskQueue).join(' AND ') })) {
    if (runId === own) continue;
    try {
      // The list may be older than what the engine itself has.
      const { memo } = await client.workflow.getHandle(workflowId, runId).describe();
      const said = (memo ?? {}) as EventTailMemo;
      if (said.pass !== undefined) return said;
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
    left -= 1;
    if (left === 0) break;
  }
  return null;
}

/** Tells how far the pass is while it takes long: a worker that takes it up begins there. */
async function beating<T>(pass: Pass, work: () => Promise<T>): Promise<T> {
  const { heartbeatTimeoutMs = 10_000 } = activityInfo();
  const timer = setInterval(() => heartbeat(pass.progress), heartbeatTimeoutMs / 3);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

/** @throws whatever is neither the provider's failure nor Temporal's: a bug, which Temporal reports as such. */
function failureOf(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof PaymentsError) return { code: error.code, message: error.message };
  if (error instanceof ServiceError || isGrpcServiceError(error)) {
    return { code: 'temporal_unavailable', message: error.message };
  }
  throw error;
}
