import {
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  type WorkflowExecutionDescription,
  type WorkflowHandle,
} from '@temporalio/client';
import type { ApplicationFailure } from '@temporalio/common';
import { accountOf } from '@tillflow/domain';
import {
  changeEndpoint,
  EVENT_ENDPOINT_WORKFLOW,
  EVENT_FEED_WORKFLOW,
  eventEndpointWorkflowId,
  eventFeedWorkflowId,
  MAX_ENDPOINTS,
  originOf,
  OTHER_ENDPOINT,
  replayEvents,
  SEALED_MEANWHILE,
  testEndpoint,
  wake,
  type Attributed,
  type EndpointChange,
  type EndpointPolicy,
  type EventEndpointMemo,
  type EventFeedMemo,
  type FeedCall,
  type TimeRange,
} from '@tillflow/workflows';
import type { RunOptions } from '../acknowledgements.js';
import { within } from '../connection/bounded-call.js';
import type { Temporal } from '../connection/connection.js';
import type { EndpointSealer, EventLinks } from './secrets.js';
import { readDeliveries, type DeliveryPage } from './deliveries.js';
import { decodeRuns, listRuns, type OnUnreadable } from '../listed-runs.js';
import { randomText } from '../random-text.js';
import { nameOnQueue } from '../setup/schedules.js';

/** Another request has replaced the secrets of an endpoint meanwhile. */
export class SecretsReplacedError extends Error {
  override readonly name = 'SecretsReplacedError';
}

/** An endpoint as Temporal stores it. */
export type RunningEndpoint = { readonly workflowId: string; readonly memo: EventEndpointMemo };

/** The most simultaneous rotations of one secret that succeed. */
const MOST_ROTATIONS = 5;

/** A new endpoint is listed within this time, in milliseconds. */
const MOST_LAG_MS = 60_000;

const ID = /^evep_([0-9]{2,3})[a-z2-7]{16}$/;
const RANDOM_CHARS = 16;

/**
 * Event endpoints as Temporal stores them: one open workflow each, with its settings in the memo. Each uses one of
 * {@link MAX_ENDPOINTS} slots, which is part of its id. Reading, creating and deleting need no worker. Every method
 * throws what Temporal's client throws: see `isTemporalFailure`.
 */
export class EventEndpoints {
  /** The workflows that were reported as unreadable. */
  readonly #reported = new Set<string>();

  /** @param onUnreadable receives each workflow once whose endpoint cannot be decrypted: lists leave it out */
  constructor(
    private readonly temporal: Pick<Temporal, 'client' | 'connection'>,
    private readonly options: RunOptions,
    private readonly onUnreadable: OnUnreadable = () => undefined,
  ) {}

  /** @returns null when every slot is taken */
  async create(
    {
      by,
      ...settings
    }: Omit<EventEndpointMemo['endpoint'], 'id' | 'created_at' | 'updated_at' | 'created_by'> & {
      readonly by: string;
    },
    sealed: string,
    policy?: Partial<EndpointPolicy>,
  ): Promise<EventEndpointMemo | null> {
    const taken = new Set((await this.running()).map(({ workflowId }) => workflowId));
    const slots = Array.from({ length: MAX_ENDPOINTS }, (_, index) => ({ slot: index + 1, order: Math.random() }));
    // Simultaneous requests begin with different slots.
    for (const { slot } of slots.toSorted((one, other) => one.order - other.order)) {
      const workflowId = this.#workflowId(slot);
      if (taken.has(workflowId)) continue;
      const now = new Date().toISOString();
      const id = `evep_${String(slot).padStart(2, '0')}${randomText(RANDOM_CHARS)}`;
      const endpoint = { ...settings, id, created_at: now, updated_at: now, created_by: by };
      const memo: EventEndpointMemo = { endpoint, sealed };
      try {
        await this.#within('write', () =>
          this.temporal.client.workflow.start(EVENT_ENDPOINT_WORKFLOW, {
            workflowId,
            taskQueue: this.options.taskQueue,
            args: [policy === undefined ? {} : { policy }],
            workflowIdConflictPolicy: 'FAIL',
            workflowIdReusePolicy: 'ALLOW_DUPLICATE',
            memo: { ...memo },
            staticSummary: `Events to ${originOf(settings.url)}`,
          }),
        );
      } catch (error) {
        // Another request took the slot.
        if (error instanceof WorkflowExecutionAlreadyStartedError) continue;
        // A start without an answer may have taken effect. Only this answer has the secret.
        if ((await this.get(id).catch(() => null)) === null) throw error;
      }
      // A worker starts the feed, too.
      await this.#lastFeed()
        .then((last) => this.#wakeFeed(last))
        .catch(() => undefined);
      return memo;
    }
    return null;
  }

  /** Null when there is none. */
  async get(id: string): Promise<EventEndpointMemo | null> {
    const workflowId = this.#workflowIdOf(id);
    if (workflowId === null) return null;
    const found = await this.#within('read', () =>
      describedOrNull(this.temporal.client.workflow.getHandle(workflowId)),
    );
    const stored = found?.memo as EventEndpointMemo | undefined;
    return found?.status.name === 'RUNNING' && stored?.endpoint.id === id ? stored : null;
  }

  /** All endpoints that can be decrypted. A list may lag a moment behind. */
  async running(): Promise<RunningEndpoint[]> {
    const { client } = this.temporal;
    const runs = await listRuns(client, this.#query, (call) => this.#within('list', call));
    const decoded = await decodeRuns(client, runs, (workflowId, error) => {
      if (!this.#reported.has(workflowId)) this.onUnreadable(workflowId, error);
      this.#reported.add(workflowId);
    });
    return decoded
      .map(({ workflowId, memo }) => ({ workflowId, memo: memo as EventEndpointMemo }))
      .toSorted((one, other) => one.memo.endpoint.created_at.localeCompare(other.memo.endpoint.created_at, 'en'));
  }

  async count(): Promise<number> {
    return (await this.#within('list', () => this.temporal.client.workflow.count(this.#query))).count;
  }

  /**
   * The endpoint after the change; null when there is none.
   * @throws {SecretsReplacedError} when another request has replaced `sealed.before`.
   */
  async change(id: string, change: Omit<EndpointChange, 'endpoint'>): Promise<EventEndpointMemo | null> {
    return this.#update(id, (workflow) =>
      workflow.executeUpdate(changeEndpoint, { args: [{ ...change, endpoint: id }] }),
    );
  }

  /** Makes a new secret. @returns null when there is no such endpoint */
  async rotate(
    id: string,
    sealer: EndpointSealer,
    links: EventLinks,
    requester: Attributed,
  ): Promise<{ readonly memo: EventEndpointMemo; readonly secret: string } | null> {
    for (let tries = 1; ; tries += 1) {
      const stored = await this.get(id);
      if (stored === null) return null;
      const { secret, sealed } = await sealer.rotate(stored.sealed, links, Date.now());
      try {
        const memo = await this.change(id, { ...requester, sealed: { before: stored.sealed, after: sealed } });
        return memo === null ? null : { memo, secret };
      } catch (error) {
        if (error instanceof SecretsReplacedError) {
          if (tries === MOST_ROTATIONS) throw error;
          continue;
        }
        // A change without an answer may have taken effect. Only this answer has the secret.
        const changed = await this.get(id).catch(() => null);
        if (changed?.sealed !== sealed) throw error;
        return { memo: changed, secret };
      }
    }
  }

  /** Sends a marked event. @returns its `webhook-id`; null when there is no such endpoint */
  async test(id: string, by: string): Promise<string | null> {
    return this.#update(id, (workflow) => workflow.executeUpdate(testEndpoint, { args: [{ endpoint: id, by }] }));
  }

  /** @returns false when there is no such endpoint */
  async replay(id: string, range: TimeRange, by: string): Promise<boolean> {
    const replayed = await this.#update(id, async (workflow) => {
      await workflow.executeUpdate(replayEvents, { args: [{ ...range, endpoint: id, by }] });
      return true;
    });
    return replayed ?? false;
  }

  /** @param place as an earlier page says. @returns null when there is no such endpoint */
  async deliveries(id: string, limit: number, place: string | null): Promise<DeliveryPage | null> {
    const memo = await this.get(id);
    const workflowId = this.#workflowIdOf(id);
    if (memo === null || workflowId === null) return null;
    const since = Date.parse(memo.endpoint.created_at);
    return readDeliveries(this.temporal.client, workflowId, {
      since,
      limit,
      place,
      bound: (call) => this.#within('list', call),
    });
  }

  /** @returns false when there is no such endpoint */
  async remove(id: string, by: string): Promise<boolean> {
    const removed = await this.#update(id, async (workflow) => {
      await workflow.terminate(`Deleted by ${by}`);
      return true;
    });
    return removed ?? false;
  }

  async #update<T>(id: string, act: (workflow: WorkflowHandle) => Promise<T>): Promise<T | null> {
    const workflowId = this.#workflowIdOf(id);
    if (workflowId === null) return null;
    const found = await this.#within('read', () =>
      describedOrNull(this.temporal.client.workflow.getHandle(workflowId)),
    );
    const stored = found?.memo as EventEndpointMemo | undefined;
    if (found?.status.name !== 'RUNNING' || stored?.endpoint.id !== id) return null;
    // A request for an endpoint that was deleted meanwhile must not reach the one that has its workflow id now.
    const firstExecutionRunId = found.raw.workflowExecutionInfo?.firstRunId;
    const chain = firstExecutionRunId ? { firstExecutionRunId } : {};
    const workflow = this.temporal.client.workflow.getHandle(workflowId, undefined, chain);
    try {
      return await this.#within('write', () => act(workflow));
    } catch (error) {
      const type = error instanceof WorkflowUpdateFailedError ? (error.cause as ApplicationFailure).type : null;
      if (error instanceof WorkflowNotFoundError || type === OTHER_ENDPOINT) return null;
      if (type === SEALED_MEANWHILE) throw new SecretsReplacedError();
      throw error;
    }
  }

  /** Starts the feed when it does not run. It goes on where the one before it ended. */
  async keepFeed(): Promise<void> {
    const last = await this.#lastFeed();
    if (last?.status.name !== 'RUNNING') await this.#wakeFeed(last);
  }

  /** Every enabled endpoint has all events until then, in milliseconds since 1970 UTC; null when the feed does not run. */
  async feedSince(): Promise<number | null> {
    const last = await this.#lastFeed();
    return last?.status.name === 'RUNNING' ? ((last.memo as EventFeedMemo | undefined)?.since ?? null) : null;
  }

  /** Starts the feed, or keeps one that is about to end. */
  async #wakeFeed(last: WorkflowExecutionDescription | null): Promise<void> {
    const { taskQueue } = this.options;
    const [oldest] = await this.running();
    const since = Math.max(
      oldest === undefined ? Date.now() - MOST_LAG_MS : Date.parse(oldest.memo.endpoint.created_at),
      (last?.memo as EventFeedMemo | undefined)?.since ?? 0,
    );
    const input: FeedCall = { since, progress: '' };
    const memo: EventFeedMemo = { since };
    await this.#within('write', () =>
      this.temporal.client.workflow.signalWithStart(EVENT_FEED_WORKFLOW, {
        workflowId: this.#feedId,
        taskQueue,
        args: [input],
        signal: wake,
        memo,
        staticSummary: 'Finds the events of all checkouts',
      }),
    );
  }

  #lastFeed(): Promise<WorkflowExecutionDescription | null> {
    return this.#within('read', () => describedOrNull(this.temporal.client.workflow.getHandle(this.#feedId)));
  }

  get #feedId(): string {
    const { taskQueue } = this.options;
    return nameOnQueue(eventFeedWorkflowId(accountOf(taskQueue)), taskQueue);
  }

  get #query(): string {
    return [
      `WorkflowType = '${EVENT_ENDPOINT_WORKFLOW}'`,
      `TaskQueue = '${this.options.taskQueue}'`,
      `ExecutionStatus = 'Running'`,
    ].join(' AND ');
  }

  #workflowId(slot: number): string {
    const { taskQueue } = this.options;
    return nameOnQueue(eventEndpointWorkflowId(accountOf(taskQueue), slot), taskQueue);
  }

  #workflowIdOf(id: string): string | null {
    const [, slot] = ID.exec(id) ?? [];
    return slot === undefined ? null : this.#workflowId(Number(slot));
  }

  #within<T>(kind: 'read' | 'write' | 'list', work: () => Promise<T>): Promise<T> {
    const { bounded, readWithinMs } = this.options;
    return bounded === undefined
      ? within(this.temporal.connection, readWithinMs, work)
      : bounded(kind, readWithinMs, work);
  }
}

async function describedOrNull(workflow: WorkflowHandle): Promise<WorkflowExecutionDescription | null> {
  try {
    return await workflow.describe();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}
