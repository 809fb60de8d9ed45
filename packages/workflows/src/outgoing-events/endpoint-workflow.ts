import { formatInstant, instant } from '@tillflow/domain';
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
  sleep,
  upsertMemo,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow';
import { clock } from '../shared/clock.js';
import { requesterOf } from '../shared/requester.js';
import type { OutgoingEventActivities } from './activities.js';
import { emptyEndpoint, Endpoint, type Waiting } from './endpoint.js';
import {
  change,
  DEFAULT_ENDPOINT_POLICY,
  due,
  eventQueue,
  MAX_CHANGES,
  originOf,
  OTHER_ENDPOINT,
  replay,
  SEALED_MEANWHILE,
  test,
  type EndpointChange,
  type EndpointHealth,
  type EventEndpointInput,
  type EventEndpointMemo,
  type MadeChange,
} from './messages.js';

/** Batches in flight at one time: a delivery that hangs delays only the other deliveries of its batch and checkout. */
const MOST_BATCHES = 8;
/** The shortest time between two parts of a time range, so that an endpoint that is back is not flooded. Milliseconds. */
const LIST_EVERY_MS = 2_000;
/** The most events of a history. Above it, the workflow continues as new once nothing is in flight. */
const MAX_HISTORY_EVENTS = 4_000;

/**
 * When an activity takes longer, with its repetitions, the workflow tries again later. So one that fails each time does not
 * keep the run from continuing as new.
 */
const DELIVER_WITHIN = '30 minutes';
const NOTICE_WITHIN = '1 minute';
const LIST_WITHIN = '10 minutes';

/**
 * Delivers the events of one endpoint. It runs until a person deletes the endpoint, which terminates it. Source: the
 * contract of events in docs/api.md.
 */
export async function eventEndpoint(input: EventEndpointInput = {}): Promise<never> {
  const policy = { ...DEFAULT_ENDPOINT_POLICY, ...input.policy };
  const endpoint = new Endpoint(input.state ?? emptyEndpoint(), policy);
  const running = new Running(endpoint, policy.retryDelaysMs);
  if (input.state === undefined) upsertMemo({ since: workflowInfo().startTime.getTime() });
  // A cancellation ends the workflow below.
  running.renewAfter(policy.renewAfterMs).catch(() => undefined);
  for (;;) {
    running.read();
    endpoint.disableIfFailing(clock());
    running.publish();
    const { historyLength, continueAsNewSuggested } = workflowInfo();
    const isFull = continueAsNewSuggested || historyLength >= MAX_HISTORY_EVENTS || running.isOld;
    if (isFull && running.isIdle && allHandlersFinished()) {
      await makeContinueAsNewFunc<typeof eventEndpoint>({ memo: workflowInfo().memo ?? {} })({
        ...input,
        state: endpoint.state,
      });
    }
    // The run that ends waits for what is in flight, and begins nothing more.
    if (!isFull) running.begin();
    await running.newOrDue(isFull);
  }
}

/** What an endpoint has under way. */
class Running {
  readonly #activities = proxyActivities<OutgoingEventActivities>({
    taskQueue: eventQueue(workflowInfo().taskQueue),
    startToCloseTimeout: '10 minutes',
    heartbeatTimeout: '10 seconds',
    retry: { initialInterval: '1 second', maximumInterval: '15 seconds' },
  });
  #hasNew = false;
  #batches = 0;
  #isListing = false;
  #isNoticing = false;
  #isOld = false;
  #listAt = 0;

  constructor(
    private readonly endpoint: Endpoint,
    private readonly retryDelaysMs: readonly number[],
  ) {
    setHandler(due, ({ endpoint: id, events, missed }) => {
      if (id !== this.#memo.endpoint.id) return;
      this.#apply(() => endpoint.add(clock(), events));
      if (missed !== undefined) endpoint.list(clock(), missed);
    });
    setHandler(
      change,
      (request) => {
        this.#apply(() => this.#change(request));
        this.publish();
        return this.#memo;
      },
      { validator: (request) => this.#mustFit(request) },
    );
    setHandler(replay, (range) => this.#apply(() => endpoint.replay(clock(), range)), { validator: this.#mustBeMine });
    setHandler(
      test,
      () => {
        const id = `evt_${uuid4().replaceAll('-', '')}`;
        void this.#test(id);
        return id;
      },
      { validator: this.#mustBeMine },
    );
    setDefaultSignalHandler((name) => log.warn('No handler accepts this signal', { signal: name }));
  }

  get isIdle(): boolean {
    return this.#batches === 0 && !this.#isListing;
  }

  /** The run has lasted for its longest time. */
  get isOld(): boolean {
    return this.#isOld;
  }

  async renewAfter(ms: number): Promise<void> {
    await sleep(ms, { summary: 'Until the next run' });
    this.#isOld = true;
    this.#hasNew = true;
  }

  read(): void {
    this.#hasNew = false;
  }

  /** Begins everything that is due. */
  begin(): void {
    const now = clock();
    while (this.#batches < MOST_BATCHES) {
      const deliveries = this.endpoint.take(now);
      if (deliveries.length === 0) break;
      void this.#deliver(deliveries);
    }
    if (!this.#isListing && now >= this.#listAt && this.endpoint.nextRange !== null) void this.#list();
    if (!this.#isNoticing && this.endpoint.isNoticeDue(now)) void this.#notice();
  }

  async newOrDue(isFull: boolean): Promise<void> {
    const isBusy = this.#batches >= MOST_BATCHES || this.#isNoticing;
    const listAt = this.#isListing || this.endpoint.nextRange === null ? null : this.#listAt;
    const times = isFull ? [] : [isBusy ? null : this.endpoint.dueAt, listAt].filter((time) => time !== null);
    if (times.length === 0) return condition(() => this.#hasNew);
    const ms = Math.max(Math.min(...times) - clock(), 1);
    await condition(() => this.#hasNew, ms, { summary: 'Until the next try' });
  }

  /** Writes the memo when the health has changed, and the details in the Temporal UI. */
  publish(): void {
    const { state } = this.endpoint;
    const { disabled, failingSince, failure } = state;
    const health: EndpointHealth = {
      disabled: disabled === null ? null : { because: disabled.because, since: text(disabled.since) },
      failing_since: failingSince === null ? null : text(failingSince),
      failure,
    };
    const { endpoint, health: published } = this.#memo;
    setCurrentDetails(
      [
        `- Events go to ${originOf(endpoint.url)}`,
        disabled === null
          ? '- It is enabled'
          : `- It is **disabled** (${disabled.because}) since ${text(disabled.since)}`,
        ...(failingSince === null ? [] : [`- It accepts nothing since ${text(failingSince)}: ${failure ?? ''}`]),
        `- ${state.waiting.length} checkouts wait`,
      ].join('\n'),
    );
    if (JSON.stringify(health) !== JSON.stringify(published ?? HEALTHY)) upsertMemo({ health });
  }

  get #memo(): EventEndpointMemo {
    return workflowInfo().memo as EventEndpointMemo;
  }

  readonly #mustBeMine = ({ endpoint }: { readonly endpoint: string }): void => {
    if (endpoint === this.#memo.endpoint.id) return;
    throw ApplicationFailure.nonRetryable('This workflow is another endpoint', OTHER_ENDPOINT);
  };

  #mustFit({ endpoint, sealed }: EndpointChange): void {
    this.#mustBeMine({ endpoint });
    if (sealed === undefined || sealed.before === this.#memo.sealed) return;
    throw ApplicationFailure.nonRetryable('The secrets were replaced meanwhile', SEALED_MEANWHILE);
  }

  #apply(act: () => void): void {
    act();
    this.#hasNew = true;
  }

  #change(change: EndpointChange): void {
    const { settings, enabled, sealed } = change;
    const memo = this.#memo;
    const at = text(clock());
    const endpoint = { ...memo.endpoint, ...settings, updated_at: at };
    const made: MadeChange = { ...requesterOf(change), at, what: partsOf(change) };
    const changes = [...(memo.changes ?? []), made].slice(-MAX_CHANGES);
    upsertMemo({ endpoint, changes, ...(sealed === undefined ? {} : { sealed: sealed.after }) });
    // The receiver may now accept what it did not accept before.
    if (settings?.url !== undefined || sealed !== undefined) this.endpoint.retry(clock());
    if (enabled === true) this.endpoint.enable(clock(), memo.since ?? 0);
    if (enabled === false) this.endpoint.disable(clock(), 'requested');
  }

  #deliver(deliveries: readonly Waiting[]): Promise<void> {
    return this.#inFlight(async () => {
      const summary = `Deliver the events of ${deliveries.length} ${deliveries.length === 1 ? 'checkout' : 'checkouts'}`;
      const call = {
        ...this.#target,
        deliveries: deliveries.map(({ checkout, events, tries }) => ({ checkout, events, tries })),
      };
      const options = { summary, scheduleToCloseTimeout: DELIVER_WITHIN } as const;
      const records = await this.#activities.deliver.executeWithOptions(options, [call]).catch((error: unknown) => {
        logFailure(error);
        return [];
      });
      this.endpoint.apply(clock(), deliveries, records);
    });
  }

  #test(id: string): Promise<void> {
    return this.#inFlight(async () => {
      const call = { ...this.#target, id };
      try {
        const options = { summary: 'Deliver a test', scheduleToCloseTimeout: DELIVER_WITHIN } as const;
        const record = await this.#activities.deliverTest.executeWithOptions(options, [call]);
        this.endpoint.tested(clock(), record);
      } catch (error) {
        logFailure(error);
      }
    });
  }

  async #inFlight(work: () => Promise<void>): Promise<void> {
    this.#batches += 1;
    await work();
    this.#batches -= 1;
    this.#hasNew = true;
  }

  async #list(): Promise<void> {
    const range = this.endpoint.nextRange;
    if (range === null) return;
    this.#isListing = true;
    this.#listAt = clock() + LIST_EVERY_MS;
    try {
      const summary = range.to === null ? 'List events that changed later' : `List events until ${text(range.to)}`;
      const options = { summary, scheduleToCloseTimeout: LIST_WITHIN } as const;
      const { events } = this.#memo.endpoint;
      const listed = await this.#activities.listEvents.executeWithOptions(options, [{ range, events }]);
      this.endpoint.listed(clock(), range, listed.due, listed.rest);
    } catch (error) {
      logFailure(error);
    }
    this.#isListing = false;
    this.#hasNew = true;
  }

  /** When the workflow continues as new meanwhile, the next run notifies again. The notice has the same id. */
  async #notice(): Promise<void> {
    const { id, url } = this.#memo.endpoint;
    const { disabled, failure } = this.endpoint.state;
    this.#isNoticing = true;
    const why = `${disabled?.because ?? ''}: ${failure ?? ''}`;
    const options = { summary: 'Notify operators', scheduleToCloseTimeout: NOTICE_WITHIN } as const;
    const isDone = await this.#activities.noticeDisabled
      .executeWithOptions(options, [{ endpoint: id, url, why }])
      .catch((error: unknown) => {
        logFailure(error);
        return false;
      });
    this.endpoint.noticed(clock(), isDone);
    this.#isNoticing = false;
    this.#hasNew = true;
  }

  get #target() {
    const { endpoint, sealed } = this.#memo;
    return { endpoint: endpoint.id, url: endpoint.url, sealed, retryDelaysMs: this.retryDelaysMs };
  }
}

function partsOf({ settings = {}, enabled, sealed }: EndpointChange): string[] {
  const switched = enabled === undefined ? [] : [enabled ? 'enabled' : 'disabled'];
  return [...Object.keys(settings), ...switched, ...(sealed === undefined ? [] : ['secret'])];
}

/** After an activity has failed for good, its work stays due. @throws every other error */
function logFailure(error: unknown): void {
  if (!(error instanceof ActivityFailure)) throw error;
  log.error('An activity of an event endpoint failed', { error: String(error) });
}

const HEALTHY: EndpointHealth = { disabled: null, failing_since: null, failure: null };

const text = (milliseconds: number): string => formatInstant(instant(milliseconds));
