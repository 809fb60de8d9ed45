import { activityInfo, Context, heartbeat, log } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { formatInstant, instant, plus } from '@tillflow/domain';
import { PaymentsError, type PaymentsClient } from '@tillflow/payments-client';
import type { EventTailActivities } from '@tillflow/workflows';
import type { WorkerSettings } from '../settings.js';
import { brief } from './brief.js';
import { TailCheckouts } from './checkouts.js';
import { Delivery } from './delivery.js';
import { KnownEvents } from './known-events.js';
import { Pass, type Progress } from './pass.js';
import { recallTail } from './recall.js';
import { isTemporalDown } from './temporal-down.js';

/** Some hours of a busy account; about 2 MB. */
const KNOWN_EVENTS = 20_000;

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
    recallTail: () => recallTail(client, settings.TEMPORAL_TASK_QUEUE, activityInfo().workflowExecution?.runId ?? null),

    async readEvents({ watermark, retries, remembered = [], again = false }) {
      const { cancellationSignal: signal } = Context.current();
      const begun = (activityInfo().heartbeatDetails as Progress | undefined) ?? null;
      // The first tail begins with what is recent: pinned now, so that a pause at the start skips nothing.
      const first = formatInstant(plus(instant(Date.now()), -settings.EVENT_TAIL_LOOKBACK_MS));
      const delivery = new Delivery(checkouts, provider, livemode, signal);
      const overlapMs = settings.EVENT_TAIL_OVERLAP_MS;
      const told = { known, remembered: new Set(remembered), again };
      const parts = { provider, checkouts, delivery, ...told, overlapMs, signal };
      const pass = new Pass(parts, watermark ?? first, begun);
      const read = await beating(pass, async () => {
        try {
          await pass.run(retries);
          return pass.progress;
        } catch (error) {
          // A worker that stops: another goes on where it was.
          if (signal.aborted) throw signal.reason;
          return { ...pass.progress, failure: failureOf(error) };
        }
      });
      return { ...read, intervalMs: settings.EVENT_TAIL_INTERVAL_MS };
    },
  };
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

/** Whatever stopped the pass, the tail says so: a bug that only the engine heard of would stop it in silence. */
function failureOf(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof PaymentsError) return { code: error.code, message: error.message };
  if (isTemporalDown(error)) return { code: 'temporal_unavailable', message: String(error) };
  log.error('A pass over the events failed', { error });
  return { code: 'internal_error', message: brief(String(error)) };
}
