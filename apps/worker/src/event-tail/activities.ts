import { activityInfo, Context, log } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { accountOf, formatInstant, instant, plus } from '@tillflow/domain';
import { PaymentsError, type PaymentsClient } from '@tillflow/payments-client';
import { isTemporalDown } from '@tillflow/temporal';
import type { EventTailActivities } from '@tillflow/workflows';
import { withHeartbeat } from '../activities/provider-call.js';
import type { WorkerSettings } from '../settings.js';
import { HandledEvents } from './checkout-events.js';
import { TailCheckouts } from './checkouts.js';
import { Delivery } from './delivery.js';
import { shorten } from './notices.js';
import { Pass, type Progress } from './pass.js';
import { recallTail } from './previous-tail.js';

/** The events of some hours of a busy account; about 2 MB. */
const MAX_HANDLED_EVENTS = 20_000;

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
  const handled = new HandledEvents(MAX_HANDLED_EVENTS);
  const checkouts = new TailCheckouts(client, settings.TEMPORAL_TASK_QUEUE);
  const account = accountOf(settings.TEMPORAL_TASK_QUEUE);
  return {
    recallTail: () => recallTail(client, settings.TEMPORAL_TASK_QUEUE, activityInfo().workflowExecution?.runId ?? null),

    async readEvents({ watermark, retries, remembered, again = false }) {
      const { cancellationSignal: signal } = Context.current();
      const begun = (activityInfo().heartbeatDetails as Progress | undefined) ?? null;
      // The first watermark is stored after the first pass, so that a pause after it skips no event.
      const first = formatInstant(plus(instant(Date.now()), -settings.EVENT_TAIL_LOOKBACK_MS));
      const pass = new Pass(
        {
          account,
          provider,
          checkouts,
          delivery: new Delivery(checkouts, provider, livemode, signal, account),
          handled,
          remembered: new Set(remembered),
          again,
          overlapMs: settings.EVENT_TAIL_OVERLAP_MS,
          signal,
        },
        watermark ?? first,
        begun,
      );
      const failure = await withHeartbeat(
        () =>
          pass.run(retries).then(
            () => null,
            (error: unknown) => failureOf(error, signal),
          ),
        () => pass.progress,
      );
      const intervalMs = settings.EVENT_TAIL_INTERVAL_MS;
      return { ...pass.progress, ...(failure === null ? {} : { failure }), intervalMs };
    },
  };
}

/**
 * Any failure ends the pass and is shown in the tail's memo: the tail goes on.
 * @throws the signal's reason when the worker stops: another worker continues the pass.
 */
function failureOf(error: unknown, signal: AbortSignal): { readonly code: string; readonly message: string } {
  if (signal.aborted) throw signal.reason;
  if (error instanceof PaymentsError) return { code: error.code, message: error.message };
  if (isTemporalDown(error)) return { code: 'temporal_unavailable', message: String(error) };
  log.error('A pass over the events failed', { error });
  return { code: 'pass_failed', message: shorten(String(error)) };
}
