import { Inject, Injectable } from '@nestjs/common';
import { CHECKOUT_STATUSES, CURRENCIES } from '@tillflow/domain';
import {
  Checkouts,
  describeTaskQueue,
  EventEndpoints,
  currentPollers,
  isTemporalFailure,
  PendingPlans,
  Reconciliations,
  runningCheckouts,
  stuckWorkflows,
  within,
  type FullReconciliation,
  type StoredCheckout,
  type TaskQueue,
} from '@tillflow/temporal';
import { ATTENTION_CODES, findEventTail, type AttentionCode } from '@tillflow/workflows';
import type { Logger } from 'pino';
import { Gauge } from 'prom-client';
import { LOGGER, Settings } from '../providers.js';
import { TemporalAccess } from '../temporal/temporal.provider.js';
import { EventEndpointGauges, type ReadEndpoints } from './event-endpoints.js';
import { EventTailGauges, type RunningTail } from './event-tail.js';
import { Metrics } from './metrics.js';
import { ReconciliationGauges } from './reconciliation.js';

/** The longest time of one refresh. Milliseconds. */
const READ_WITHIN_MS = 4_000;
/** Checkouts that need attention are read one by one, at most this many. The others count as unread. */
const MOST_ATTENTIONS = 500;

/** Attention codes that mean that money may be in the wrong place. The whole amount of the checkout counts. */
const AT_RISK: ReadonlySet<AttentionCode> = new Set([
  'integrity_mismatch',
  'refund_doubled',
  'return_refused',
  'refund_unmatched',
  'unknown_status',
  'double_payment',
  'late_payment',
  'outcome_unknown',
]);

/** The kinds of tasks. */
const QUEUES = ['workflows', 'activities'] as const;

/** The results of one refresh. */
type Reading = {
  readonly byStatus: ReadonlyMap<string, number>;
  readonly attentions: readonly StoredCheckout[];
  readonly unread: number;
  readonly stuck: number;
  readonly queues: Readonly<Record<(typeof QUEUES)[number], TaskQueue>>;
  readonly tail: RunningTail | null;
  readonly reconciled: FullReconciliation | null;
  readonly undecidedPlans: number;
  readonly events: ReadEndpoints;
};

/**
 * Gauges of the business, read from Temporal for a scrape, at most once in `METRICS_REFRESH_MS`. A refresh takes thirteen
 * searches, whatever the number of checkouts.
 */
@Injectable()
export class BusinessMetrics {
  readonly #checkouts: Checkouts;
  readonly #gauges: ReturnType<typeof gaugesIn>;
  readonly #tail: EventTailGauges;
  readonly #reconciliation: ReconciliationGauges;
  readonly #reconciliations: Reconciliations;
  readonly #plans: PendingPlans;
  readonly #events: EventEndpointGauges;
  readonly #endpoints: EventEndpoints;
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | null = null;

  constructor(
    private readonly temporal: TemporalAccess,
    private readonly settings: Settings,
    @Inject(LOGGER) private readonly logger: Logger,
    metrics: Metrics,
  ) {
    this.#checkouts = new Checkouts(temporal, { readWithinMs: READ_WITHIN_MS });
    this.#gauges = gaugesIn(metrics);
    this.#tail = new EventTailGauges(metrics.registry);
    this.#reconciliation = new ReconciliationGauges(metrics.registry);
    const taskQueue = settings.values.TEMPORAL_TASK_QUEUE;
    this.#reconciliations = new Reconciliations(temporal, { taskQueue, readWithinMs: READ_WITHIN_MS });
    this.#plans = new PendingPlans(temporal, { taskQueue, readWithinMs: READ_WITHIN_MS });
    this.#events = new EventEndpointGauges(metrics.registry);
    this.#endpoints = new EventEndpoints(temporal, { taskQueue, readWithinMs: READ_WITHIN_MS });
  }

  /** Does not throw. When a read fails, its gauges keep their last values, and `tillflow_temporal_up` is 0. */
  async refresh(): Promise<void> {
    if (performance.now() - this.#readAt < this.settings.values.METRICS_REFRESH_MS) return;
    this.#reading ??= this.#refresh().finally(() => {
      this.#reading = null;
    });
    await this.#reading;
  }

  async #refresh(): Promise<void> {
    try {
      this.#show(await within(this.temporal.connection, READ_WITHIN_MS, () => this.#read()));
      this.#gauges.up.set(1);
      this.#gauges.readAt.set(Date.now() / 1_000);
    } catch (error) {
      const isDown = isTemporalFailure(error);
      if (!isDown) this.logger.error({ err: error }, 'the business metrics cannot be read');
      this.#gauges.up.set(isDown ? 0 : 1);
    } finally {
      this.#readAt = performance.now();
    }
  }

  async #read(): Promise<Reading> {
    const { TEMPORAL_TASK_QUEUE: queue } = this.settings.values;
    // The first call finds out whether Temporal answers, so that a server that is down gets one call and not a dozen.
    const { namespace } = this.temporal.client.options;
    const { namespaceInfo } = await this.temporal.connection.workflowService.describeNamespace({ namespace });
    const tellsOfStuck = namespaceInfo?.capabilities?.reportedProblemsSearchAttribute === true;
    const counting = SEARCHED.map(
      async (status) => [status, await this.#checkouts.count(runningCheckouts(queue, { status }))] as const,
    );
    let unreadable = 0;
    const reading = this.#checkouts.page(runningCheckouts(queue, 'attention'), MOST_ATTENTIONS, null, (workflow) => {
      unreadable += 1;
      this.#skip(workflow);
    });
    const queueing = Promise.all([
      describeTaskQueue(this.temporal, queue, 'workflows'),
      describeTaskQueue(this.temporal, queue, 'activities'),
    ]);
    const tailing = findEventTail(this.temporal.client.workflow, queue);
    const reconciling = this.#reconciliation.read(this.#reconciliations);
    const planning = this.#plans.list(this.#skip);
    const following = Promise.all([this.#endpoints.running(), this.#endpoints.feedSince()]);
    const [counts, stuck, { data, nextPageToken }, tail, reconciled, plans, events, [workflows, activities]] =
      await Promise.all([
        Promise.all(counting),
        tellsOfStuck ? this.#checkouts.count(stuckWorkflows(queue)) : 0,
        reading,
        tailing,
        reconciling,
        planning,
        following,
        queueing,
      ]);
    const all =
      nextPageToken === null
        ? data.length + unreadable
        : await this.#checkouts.count(runningCheckouts(queue, 'attention'));
    return {
      byStatus: new Map(counts),
      attentions: data,
      stuck,
      unread: all - data.length,
      queues: { workflows, activities },
      tail: tail === null ? null : { memo: tail.memo, startedAt: tail.run.startTime.getTime() },
      reconciled,
      events: { endpoints: events[0].map(({ memo }) => memo), feedSince: events[1] },
      undecidedPlans: plans.filter(({ undecided }) => undecided !== null).length,
    };
  }

  readonly #skip = (workflow: string): void => {
    this.logger.warn({ workflow_id: workflow }, 'a workflow that may need attention cannot be read: a key is missing');
  };

  #show(reading: Reading): void {
    const { byStatus, attentions, unread, stuck, queues, tail, reconciled } = reading;
    const gauges = this.#gauges;
    gauges.stuck.set(stuck);
    gauges.undecided.set(reading.undecidedPlans);
    for (const status of SEARCHED) gauges.checkouts.set({ status }, byStatus.get(status) ?? 0);
    const now = Date.now();
    for (const code of ATTENTION_CODES) {
      const since = attentions.flatMap(({ state: { attention } }) =>
        attention?.code === code ? [Date.parse(attention.since)] : [],
      );
      gauges.attention.set({ code }, since.length);
      gauges.oldest.set({ code }, since.length === 0 ? 0 : Math.max(0, now - Math.min(...since)) / 1_000);
    }
    for (const currency of CURRENCIES) {
      const amounts = attentions.flatMap(({ intent, state: { attention } }) =>
        intent.currency === currency && attention !== null && AT_RISK.has(attention.code) ? [intent.amount] : [],
      );
      gauges.atRisk.set(
        { currency },
        amounts.reduce((sum, amount) => sum + amount, 0),
      );
    }
    this.#tail.show(tail, now);
    this.#events.show(reading.events, now);
    this.#reconciliation.show(reconciled, now);
    gauges.unread.set(unread);
    for (const kind of QUEUES) {
      gauges.pollers.set({ kind }, currentPollers(queues[kind], now).length);
      gauges.backlog.set({ kind }, queues[kind].backlog);
      gauges.backlogAge.set({ kind }, queues[kind].backlogAgeMs / 1_000);
    }
  }
}

/** The search attribute of `creating` is awaiting_payment. */
const SEARCHED = CHECKOUT_STATUSES.filter((status) => status !== 'creating');

function gaugesIn({ registry }: Metrics) {
  const registers = [registry];
  return {
    checkouts: new Gauge({
      name: 'tillflow_checkouts',
      help: 'Checkouts with a running workflow, by status: unpaid ones until 48 h after their end, paid ones for a year.',
      labelNames: ['status'],
      registers,
    }),
    attention: new Gauge({
      name: 'tillflow_attention_checkouts',
      help: 'Checkouts that need a person, or may need one soon, by the code of their most serious attention.',
      labelNames: ['code'],
      registers,
    }),
    oldest: new Gauge({
      name: 'tillflow_attention_oldest_age_seconds',
      help: 'When the oldest attention of this code began; 0 without one.',
      labelNames: ['code'],
      registers,
    }),
    unread: new Gauge({
      name: 'tillflow_attention_unread_checkouts',
      help: 'Checkouts with attention that the other gauges leave out: too many to read, or their key is missing.',
      registers,
    }),
    stuck: new Gauge({
      name: 'tillflow_stuck_workflows',
      help: 'Workflows whose code fails repeatedly, with checkouts among them. This is a bug, and these workflows make no progress.',
      registers,
    }),
    undecided: new Gauge({
      name: 'tillflow_plans_undecided',
      help: 'Recurring plans that wait for a person, because Tillflow cannot find out whether they were made.',
      registers,
    }),
    atRisk: new Gauge({
      name: 'tillflow_money_at_risk',
      help: 'Amounts of checkouts whose money may be in the wrong place, in the smallest currency unit.',
      labelNames: ['currency'],
      registers,
    }),
    pollers: new Gauge({
      name: 'tillflow_worker_pollers',
      help: 'Workers of the current build that polled for tasks in the last 90 s, by the kind of task.',
      labelNames: ['kind'],
      registers,
    }),
    backlog: new Gauge({
      name: 'tillflow_task_queue_backlog',
      help: 'Tasks that wait for a worker, as Temporal counts them approximately, by the kind of task.',
      labelNames: ['kind'],
      registers,
    }),
    backlogAge: new Gauge({
      name: 'tillflow_task_queue_backlog_age_seconds',
      help: 'For how long the oldest of these tasks waits; 0 when none waits.',
      labelNames: ['kind'],
      registers,
    }),
    up: new Gauge({
      name: 'tillflow_temporal_up',
      help: 'Whether Temporal answered the last refresh of these metrics.',
      registers,
    }),
    readAt: new Gauge({
      name: 'tillflow_business_read_timestamp_seconds',
      help: 'When the business metrics were last refreshed.',
      registers,
    }),
  };
}
