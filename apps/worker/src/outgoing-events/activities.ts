import { setTimeout as sleep } from 'node:timers/promises';
import { activityInfo, Context, log } from '@temporalio/activity';
import { formatInstant, instant } from '@tillflow/domain';
import {
  Checkouts,
  checkoutsChanged,
  checkoutsChangedAgain,
  Seal,
  within,
  type EventEndpoints,
  type Temporal,
} from '@tillflow/temporal';
import {
  addNotice,
  findEventTail,
  originOf,
  type DeliveryRecord,
  type EventsListed,
  type FeedCall,
  type OutgoingEventActivities,
} from '@tillflow/workflows';
import { withHeartbeat } from '../activities/provider-call.js';
import { shorten } from '../event-tail/notices.js';
import type { WorkerSettings } from '../settings.js';
import { BatchDelivery } from './delivery.js';
import { partOf } from './event-ranges.js';
import { eventsSince } from './events.js';
import { Feed } from './feed.js';
import { FreezeDetector } from './freeze-detector.js';
import { EventSender } from './sender.js';

/** The pause between two passes of the feed, in milliseconds. */
const FEED_EVERY_MS = 500;
/** The time after which the feed's activity ends with its present pass. Milliseconds. */
const FEED_FOR_MS = 5 * 60_000;
/** The feed ends after this time without an endpoint. Milliseconds. */
const LINGER_MS = 15_000;
const READ_WITHIN_MS = 5_000;

export type OutgoingEventParts = {
  readonly temporal: Temporal;
  readonly endpoints: EventEndpoints;
  readonly settings: Pick<WorkerSettings, 'TEMPORAL_TASK_QUEUE' | 'PROVIDER_SECRET_KEY' | 'EVENT_ENDPOINT_NETWORKS'>;
  /** Temporal's clock, in milliseconds since 1970 UTC. */
  readonly now: () => number;
};

/** The activities of outgoing events, and what ends their connections and timers. */
export function outgoingEventActivities({ temporal, endpoints, settings, now }: OutgoingEventParts): {
  readonly activities: OutgoingEventActivities;
  end(): Promise<void>;
} {
  const { TEMPORAL_TASK_QUEUE: taskQueue } = settings;
  const checkouts = new Checkouts(temporal, { readWithinMs: READ_WITHIN_MS });
  const freezes = new FreezeDetector();
  const sender = new EventSender(settings.EVENT_ENDPOINT_NETWORKS, undefined, undefined, freezes);
  const parts = {
    checkouts,
    freezes,
    sender,
    seal: new Seal(settings.PROVIDER_SECRET_KEY),
  };
  const bounded = <T>(call: () => Promise<T>): Promise<T> => within(temporal.connection, READ_WITHIN_MS, call);
  const onUnreadable = (workflow: string, error: Error): void =>
    log.error('The events of a checkout cannot be read', { workflow_id: workflow, error });
  const onUnreachable = (endpoint: string, error: unknown): void =>
    log.warn('Events cannot be handed over to an endpoint, and are kept for it', { endpoint, error });

  const activities: OutgoingEventActivities = {
    deliver({ deliveries, ...call }) {
      const done = activityInfo().heartbeatDetails as readonly DeliveryRecord[] | undefined;
      const batch = new BatchDelivery(parts, call, Context.current().cancellationSignal, done);
      return withHeartbeat(
        () => batch.run(deliveries),
        () => batch.records,
      );
    },

    deliverTest({ id, ...call }) {
      const batch = new BatchDelivery(parts, call, Context.current().cancellationSignal);
      return withHeartbeat(() => batch.test(id));
    },

    async listEvents({ range, events }) {
      const list = async (): Promise<EventsListed> => {
        const query = (from: number, to: number | null, early?: number): string =>
          to === null || range.to === null
            ? checkoutsChangedAgain(taskQueue, from, to)
            : checkoutsChanged(taskQueue, from, to, early);
        const { part, rest } = await partOf(range, now(), (from, to) => checkouts.count(query(from, to, 0)));
        const stored = await checkouts.all(query(part.from, part.to), true, onUnreadable);
        const due = stored
          .map((one) => eventsSince(one, range.events.from))
          // The search has whole seconds, and starts that are a minute older: an earlier part has those.
          .filter((all) => Math.max(...all.map(({ at }) => at)) >= part.from)
          .flat()
          .filter(({ at, event }) => at <= range.events.to && (events === null || events.includes(event)));
        return { due, rest };
      };
      return withHeartbeat(list);
    },

    async feedEndpoints(call) {
      const { cancellationSignal: signal } = Context.current();
      const { since, progress } = (activityInfo().heartbeatDetails as FeedCall | undefined) ?? call;
      const feed = new Feed(
        { client: temporal.client, taskQueue, checkouts, endpoints, now, within: bounded, onUnreadable, onUnreachable },
        since,
        progress,
      );
      const endsAt = performance.now() + FEED_FOR_MS;
      let seenAt = performance.now();
      const run = async (): Promise<void> => {
        for (let passes = 0; performance.now() < endsAt && performance.now() - seenAt < LINGER_MS; passes += 1) {
          try {
            await feed.pass();
          } catch (error) {
            // The next activity finds the same events again. Those that endpoints have are not repeated.
            if (passes === 0 || signal.aborted) throw error;
            log.warn('The feed of events could not be read to its end', { error });
            return;
          }
          if (feed.hasEndpoints) seenAt = performance.now();
          await sleep(FEED_EVERY_MS, undefined, { signal });
        }
      };
      await withHeartbeat(run, () => feed.progress);
      return { ...feed.progress, completeUntil: feed.completeUntil, hasEndpoints: feed.hasEndpoints };
    },

    async noticeDisabled({ endpoint, url, why }) {
      const origin = originOf(url);
      log.error('An event endpoint was disabled', { endpoint, origin, why });
      const tail = await findEventTail(temporal.client.workflow, taskQueue);
      if (tail === null) return false;
      const since = formatInstant(instant(now()));
      await temporal.client.workflow.getHandle(tail.run.workflowId).signal(addNotice, {
        id: `endpoint_disabled:${endpoint}`,
        code: 'endpoint_disabled',
        since,
        detail: shorten(`Nothing is sent to ${origin} any more: ${why}`),
        subject: endpoint,
        event_id: `${endpoint}:${since}`,
        charge_id: null,
        plan_id: null,
        checkout_id: null,
      });
      return true;
    },
  };
  return {
    activities,
    end: () => {
      freezes.end();
      return sender.close();
    },
  };
}
