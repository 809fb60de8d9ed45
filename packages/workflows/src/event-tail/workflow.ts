import { parseInstant } from '@tillflow/domain';
import {
  ActivityFailure,
  allHandlersFinished,
  ApplicationFailure,
  condition,
  log,
  makeContinueAsNewFunc,
  proxyActivities,
  setCurrentDetails,
  setDefaultSignalHandler,
  setHandler,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import { clock } from '../shared/clock.js';
import type { EventsRead, EventTailActivities, ReadEventsCall } from './activities.js';
import { detailsOf } from './details.js';
import type { EventTailMemo } from './memo.js';
import { backfill, dismissNotice, type Backfill } from './messages.js';
import { Tail, type TailRecord } from './tail.js';

export type EventTailInput = {
  /** What an earlier run of the same tail knew, when it continued as new. */
  readonly record: TailRecord;
  /** Events after which the workflow continues as new. */
  readonly maxHistoryEvents?: number;
};

/** About forty minutes of passes: the history is loaded whole by a worker that has not seen it. */
const MAX_HISTORY_EVENTS = 2_000;

/** Whoever waits for events to be read keeps the history from ending: so many times the usual length, and no longer. */
const TOO_LONG = 2;

const { readEvents } = proxyActivities<EventTailActivities>({
  // A pass tells how far it came, and is taken up there: of an hour's events, and of a worker that died.
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '15 seconds' },
});

const { recallTail } = proxyActivities<EventTailActivities>({
  startToCloseTimeout: '20 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '15 seconds' },
});

/**
 * Reads the provider's events for all checkouts, for ever, and makes what webhooks lost known to each. Its Schedule
 * starts it when it does not run. Source: API reference, "Events".
 */
export async function eventTail(input?: EventTailInput): Promise<never> {
  const maxHistoryEvents = input?.maxHistoryEvents ?? MAX_HISTORY_EVENTS;
  const desk = new Desk(maxHistoryEvents * TOO_LONG);
  desk.open();
  desk.tail = input === undefined ? Tail.after(await recall()) : new Tail(input.record);
  for (;;) {
    await pass(desk.tail);
    if (workflowInfo().historyLength >= maxHistoryEvents && allHandlersFinished()) {
      const { record } = desk.tail;
      await makeContinueAsNewFunc<typeof eventTail>({ memo: { ...workflowInfo().memo, ...desk.tail.memo } })({
        ...input,
        record,
      });
    }
    await condition(() => desk.tail?.isAsked === true, desk.tail.intervalMs, { summary: 'Until the next pass' });
  }
}

/** Takes messages, also those that come before the tail knows where the last one was. */
class Desk {
  tail: Tail | null = null;

  /** @param patience events in the history after which nobody is waited for. */
  constructor(private readonly patience: number) {}

  open(): void {
    setHandler(
      backfill,
      async ({ from }) => {
        await condition(() => this.tail !== null);
        const asked = this.#known.reread(parseInstant(from));
        await condition(() => asked.isDone || workflowInfo().historyLength >= this.patience);
        if (asked.isDone) return asked.counts;
        this.#known.giveUp(asked);
        throw ApplicationFailure.nonRetryable(
          'The events cannot be read for so long that this is given up: ask again when they can',
          'backfill_unfinished',
        );
      },
      { validator: refuseBackfill },
    );
    setHandler(dismissNotice, async ({ id, reason, by }) => {
      await condition(() => this.tail !== null);
      log.info('A notice was dismissed', { notice: id, reason, by });
      this.#known.dismiss(id);
      report(this.#known);
    });
    setDefaultSignalHandler((name) => log.warn('A signal that no handler takes', { signal: name }));
  }

  get #known(): Tail {
    if (this.tail === null) throw new Error('The tail has not recalled where it was');
    return this.tail;
  }
}

function refuseBackfill({ from }: Backfill): void {
  try {
    parseInstant(from);
  } catch {
    throw ApplicationFailure.nonRetryable(`Not an ISO 8601 date-time with a zone: ${from}`, 'invalid_backfill');
  }
}

function recall(): Promise<EventTailMemo | null> {
  return recallTail.executeWithOptions({ summary: 'Where was the last tail?' }, []);
}

async function pass(tail: Tail): Promise<void> {
  const begunAt = clock();
  const call = tail.begin(begunAt);
  const read = await tried(call);
  if ('failure' in read && !('watermark' in read)) tail.failed(clock(), read.failure);
  else tail.ended(begunAt, clock(), read);
  report(tail);
}

/** A worker that does not answer, or a bug: the tail goes on, and says so. */
async function tried(call: ReadEventsCall): Promise<EventsRead | Required<Pick<EventsRead, 'failure'>>> {
  try {
    return await readEvents.executeWithOptions({ summary: `Events since ${call.watermark ?? 'lately'}` }, [call]);
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    const { cause } = error;
    const code = cause instanceof ApplicationFailure ? (cause.type ?? 'activity_failed') : 'activity_failed';
    return { failure: { code, message: cause?.message ?? error.message } };
  }
}

/** Only what changed is written: the parts that are long change rarely. */
function report(tail: Tail): void {
  const { memo } = tail;
  const told = workflowInfo().memo as EventTailMemo | undefined;
  setCurrentDetails(detailsOf(memo));
  const changed = Object.entries(memo).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(told?.[name as keyof EventTailMemo] ?? emptyPart(name)),
  );
  if (changed.length > 0) upsertMemo(Object.fromEntries(changed));
}

const LISTS: ReadonlySet<string> = new Set(['unplaced', 'notices', 'dismissed']);

function emptyPart(name: string): unknown {
  return LISTS.has(name) ? [] : null;
}
