import { parseInstant } from '@tillflow/domain';
import {
  ActivityFailure,
  allHandlersFinished,
  ApplicationFailure,
  condition,
  log,
  makeContinueAsNewFunc,
  proxyActivities,
  setDefaultSignalHandler,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { clock } from '../shared/clock.js';
import type { EventsRead, EventTailActivities } from './activities.js';
import { addNotice, backfill, dismissNotice, type Backfill, type EventCounts } from './messages.js';
import { publish } from './publish.js';
import { Tail, type TailState } from './tail.js';

export type EventTailInput = {
  /** The state of the earlier run, when it continued as new. */
  readonly state: TailState;
  /** The workflow continues as new after this many events. */
  readonly maxHistoryEvents?: number;
};

/** About forty minutes of passes. A worker that does not have the workflow in memory loads the whole history. */
const MAX_HISTORY_EVENTS = 2_000;

/** A waiting `backfill` prevents continue-as-new until the history is this many times as long. */
const BACKFILL_HISTORY_FACTOR = 2;

const { readEvents } = proxyActivities<EventTailActivities>({
  // A retry continues from the last heartbeat, also after the events of an hour.
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '15 seconds' },
});

const { recallTail } = proxyActivities<EventTailActivities>({
  startToCloseTimeout: '20 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '15 seconds' },
});

/**
 * Reads the provider's events for all checkouts, and hints each checkout whose webhook was lost. Runs for ever; its
 * Schedule starts it when it does not run. Source: API reference, "Events".
 */
export async function eventTail(input?: EventTailInput): Promise<never> {
  const maxHistoryEvents = input?.maxHistoryEvents ?? MAX_HISTORY_EVENTS;
  const handlers = new Handlers(maxHistoryEvents * BACKFILL_HISTORY_FACTOR);
  const tail = input === undefined ? await recall() : new Tail(input.state);
  handlers.tail = tail;
  for (;;) {
    await makePass(tail);
    if (workflowInfo().historyLength >= maxHistoryEvents && allHandlersFinished()) {
      const memo = { ...workflowInfo().memo, ...tail.memo };
      await makeContinueAsNewFunc<typeof eventTail>({ memo })({ ...input, state: tail.state });
    }
    await condition(() => tail.isRereadDue, tail.intervalMs, { summary: 'Until the next pass' });
  }
}

async function recall(): Promise<Tail> {
  return Tail.after(await recallTail.executeWithOptions({ summary: 'Load the memo of the earlier tail' }, []));
}

async function makePass(tail: Tail): Promise<void> {
  const begunAt = clock();
  const call = tail.begin(begunAt);
  try {
    const summary = `Events since ${call.watermark ?? 'the start'}`;
    const read: EventsRead = await readEvents.executeWithOptions({ summary }, [call]);
    tail.ended(begunAt, clock(), read);
  } catch (error) {
    // No worker answered, or the activity has a bug: the tail publishes the failure and goes on.
    if (!(error instanceof ActivityFailure)) throw error;
    const { cause } = error;
    const code = cause instanceof ApplicationFailure ? (cause.type ?? 'activity_failed') : 'activity_failed';
    tail.failed(clock(), { code, message: cause?.message ?? error.message });
  }
  publish(tail);
}

/** Handles messages, including those that arrive before the earlier tail is recalled. */
class Handlers {
  tail: Tail | null = null;

  /** @param maxHistoryEvents a `backfill` waits until the history has this many events */
  constructor(private readonly maxHistoryEvents: number) {
    setHandler(backfill, (request) => this.#backfill(request), { validator: refuseInvalidBackfill });
    setHandler(dismissNotice, async ({ id, reason, by }) => {
      const tail = await this.#recalledTail();
      log.info('A notice was dismissed', { notice: id, reason, by });
      tail.dismiss(id);
      publish(tail);
    });
    setHandler(addNotice, async (notice) => {
      const tail = await this.#recalledTail();
      tail.note(notice);
      publish(tail);
    });
    setDefaultSignalHandler((name) => log.warn('No handler accepts this signal', { signal: name }));
  }

  async #backfill({ from }: Backfill): Promise<EventCounts> {
    const tail = await this.#recalledTail();
    const reread = tail.reread(parseInstant(from));
    await condition(() => reread.isDone || workflowInfo().historyLength >= this.maxHistoryEvents);
    if (reread.isDone) return reread.counts;
    tail.giveUp(reread);
    throw ApplicationFailure.nonRetryable(
      'The provider has not listed its events for hours, so this backfill ends. Request it again when the provider answers.',
      'backfill_unfinished',
    );
  }

  async #recalledTail(): Promise<Tail> {
    await condition(() => this.tail !== null);
    if (this.tail === null) throw new Error('The memo of the earlier tail is not loaded yet');
    return this.tail;
  }
}

function refuseInvalidBackfill({ from }: Backfill): void {
  try {
    parseInstant(from);
  } catch {
    throw ApplicationFailure.nonRetryable(`Not an ISO 8601 date-time with a zone: ${from}`, 'invalid_backfill');
  }
}
