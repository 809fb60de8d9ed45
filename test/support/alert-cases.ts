/** A series as Prometheus' own tests write it: a value for each minute, or a start, what is added, and how often. */
type Series = readonly [series: string, values: string];

/** The series that make an alert fire, its text, and similar series that do not. */
export type AlertCase = {
  readonly alert: string;
  readonly fires: readonly Series[];
  /** Of the alert that fires, besides its severity. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly summary: string;
  readonly quiet: readonly Series[];
  /** The minute of the evaluation; default 50. */
  readonly at?: string;
};

const MINUTES = 60;
/** The same value all the time. */
const stays = (series: string, value: number): Series => [series, `${value}x${MINUTES}`];
/** A counter that grows by so much a minute. */
const grows = (series: string, each: number): Series => [series, `0+${each}x${MINUTES}`];

/** A histogram of one observation a minute between two of its bounds. */
function observed(name: string, above: string, upTo: string): readonly Series[] {
  return [
    grows(`${name}_bucket{le="${above}"}`, 0),
    grows(`${name}_bucket{le="${upTo}"}`, 1),
    grows(`${name}_bucket{le="+Inf"}`, 1),
  ];
}

const CALLS = 'tillflow_provider_calls_total';
/** Charges that the provider has created. */
const CHARGES = `${CALLS}{method="POST",route="/charges",outcome="done"}`;
const REQUESTS = 'tillflow_http_request_duration_seconds_count';
const WAITS = 'temporal_workflow_task_schedule_to_start_latency_seconds';
const CALL_TIMES = 'tillflow_provider_call_duration_seconds';

/** An alert may be here twice, for each half of an `or`. */
export const ALERT_CASES: readonly AlertCase[] = [
  {
    alert: 'TillflowMoneyNeedsAPerson',
    fires: [stays('tillflow_attention_oldest_age_seconds{code="integrity_mismatch"}', 400)],
    labels: { code: 'integrity_mismatch' },
    summary: 'A checkout has shown integrity_mismatch for 6m 40s',
    quiet: [
      stays('tillflow_attention_oldest_age_seconds{code="integrity_mismatch"}', 300),
      stays('tillflow_attention_oldest_age_seconds{code="outcome_unknown"}', 4_000),
    ],
  },
  {
    alert: 'TillflowAttentionStays',
    fires: [stays('tillflow_attention_oldest_age_seconds{code="outcome_unknown"}', 4_000)],
    labels: { code: 'outcome_unknown' },
    summary: 'A checkout has shown outcome_unknown for 1h 6m 40s',
    quiet: [
      stays('tillflow_attention_oldest_age_seconds{code="outcome_unknown"}', 3_600),
      stays('tillflow_attention_oldest_age_seconds{code="approval_needed"}', 4_000),
    ],
  },
  {
    alert: 'TillflowMoneyAtRisk',
    fires: [stays('tillflow_money_at_risk{currency="THB"}', 10_000_001)],
    labels: { currency: 'THB' },
    summary: '10000001 (smallest unit) of THB are in checkouts whose money may be in the wrong place',
    quiet: [stays('tillflow_money_at_risk{currency="THB"}', 10_000_000)],
  },
  {
    alert: 'TillflowAttentionUnread',
    fires: [stays('tillflow_attention_unread_checkouts', 3)],
    summary: '3 checkouts that need attention are counted but not measured',
    quiet: [stays('tillflow_attention_unread_checkouts', 0)],
  },
  {
    alert: 'TillflowReconciliationBreaks',
    fires: [stays('tillflow_reconciliation_breaks{type="amount"}', 2)],
    labels: { type: 'amount' },
    summary: "2 differences of type amount between Tillflow's records and the provider's",
    quiet: [stays('tillflow_reconciliation_breaks{type="amount"}', 0)],
  },
  {
    alert: 'TillflowReconciliationOld',
    fires: [stays('tillflow_reconciliation_age_seconds', 130_000)],
    summary: 'No payment of the last 1d 12h 6m 40s has been reconciled',
    quiet: [stays('tillflow_reconciliation_age_seconds', 129_600)],
  },
  {
    alert: 'TillflowNeverReconciled',
    at: '37h',
    fires: [['tillflow_reconciliation_age_seconds', '0x2400']],
    summary: 'No reconciliation has ever completed, or none within the retention',
    quiet: [['tillflow_reconciliation_age_seconds', '0x1380 60x1020']],
  },
  {
    alert: 'TillflowPlanUndecided',
    fires: [stays('tillflow_plans_undecided', 2)],
    summary: '2 recurring plans wait for a person',
    quiet: [stays('tillflow_plans_undecided', 0)],
  },
  {
    alert: 'TillflowNotices',
    fires: [stays('tillflow_event_tail_notices{code="dispute"}', 1)],
    labels: { code: 'dispute' },
    summary: 'The event tail shows a notice: dispute',
    quiet: [stays('tillflow_event_tail_notices{code="dispute"}', 0)],
  },
  {
    alert: 'TillflowProviderUnknown',
    fires: [
      grows(`${CALLS}{method="POST",outcome="unknown"}`, 1),
      grows(`${CALLS}{method="POST",outcome="done"}`, 9),
      grows(`${CALLS}{method="GET",outcome="done"}`, 90),
    ],
    summary: '10% of the calls to the provider end without a known outcome',
    quiet: [grows(`${CALLS}{method="POST",outcome="unknown"}`, 1), grows(`${CALLS}{method="POST",outcome="done"}`, 20)],
  },
  {
    alert: 'TillflowProviderUnknown',
    fires: [grows(`${CALLS}{method="GET",outcome="unknown"}`, 6), grows(`${CALLS}{method="GET",outcome="done"}`, 4)],
    summary: '60% of the calls to the provider end without a known outcome',
    quiet: [grows(`${CALLS}{method="GET",outcome="unknown"}`, 4), grows(`${CALLS}{method="GET",outcome="done"}`, 6)],
  },
  {
    alert: 'TillflowProviderUnreachable',
    fires: [grows(`${CALLS}{outcome="not_sent"}`, 1), grows(`${CALLS}{outcome="done"}`, 9)],
    summary: '10% of the calls to the provider cannot be sent',
    quiet: [grows(`${CALLS}{outcome="not_sent"}`, 1), grows(`${CALLS}{outcome="done"}`, 20)],
  },
  {
    alert: 'TillflowPaymentsRefused',
    fires: [
      grows(`${CALLS}{method="POST",route="/sources",outcome="rejected"}`, 19),
      grows(`${CALLS}{method="POST",route="/charges",outcome="done"}`, 1),
      grows(`${CALLS}{method="GET",route="/charges/{id}",outcome="done"}`, 100),
    ],
    summary: 'The provider refuses 95% of the new payments',
    // One till of several sends what the provider refuses.
    quiet: [
      grows(`${CALLS}{method="POST",route="/charges",outcome="rejected"}`, 8),
      grows(`${CALLS}{method="POST",route="/charges",outcome="done"}`, 2),
      grows(`${CALLS}{method="POST",route="/charges/{id}/expire",outcome="rejected"}`, 100),
    ],
  },
  {
    alert: 'TillflowProviderRefuses',
    fires: [
      grows(`${CALLS}{route="/charges",outcome="rejected"}`, 3),
      grows(`${CALLS}{route="/charges",outcome="done"}`, 1),
      grows(`${CALLS}{route="/sources",outcome="done"}`, 9),
    ],
    labels: { route: '/charges' },
    summary: 'The provider refuses 75% of /charges',
    quiet: [
      grows(`${CALLS}{route="/charges",outcome="rejected"}`, 1),
      grows(`${CALLS}{route="/charges",outcome="done"}`, 1),
      grows(`${CALLS}{route="/charges/{id}/expire",outcome="rejected"}`, 3),
      [`${CALLS}{route="/sources",outcome="rejected"}`, '0x45 3x15'],
    ],
  },
  {
    alert: 'TillflowProviderSlow',
    fires: observed(CALL_TIMES, '2.5', '5'),
    summary: 'One call in twenty to the provider takes longer than 4.875s',
    quiet: observed(CALL_TIMES, '1', '2.5'),
  },
  {
    alert: 'TillflowWebhooksRefused',
    fires: [
      grows('tillflow_webhooks_total{result="refused"}', 1),
      grows(CHARGES, 1),
      stays('tillflow_webhooks_total{result="hinted"}', 7),
    ],
    summary: 'The API refuses webhooks: their signatures do not match',
    // A stranger sends many, and those of the provider are accepted.
    quiet: [
      grows('tillflow_webhooks_total{result="refused"}', 3_000),
      grows(CHARGES, 1),
      grows('tillflow_webhooks_total{result="hinted"}', 1),
    ],
  },
  {
    alert: 'TillflowWebhooksRefused',
    fires: [
      ['tillflow_webhooks_total{result="refused"}', '0x10 3x50'],
      [CHARGES, '0x10 1x50'],
      stays('tillflow_webhooks_total{result="hinted"}', 7),
    ],
    summary: 'The API refuses webhooks: their signatures do not match',
    // At night, when no charge makes the provider send any.
    quiet: [
      grows('tillflow_webhooks_total{result="refused"}', 3_000),
      stays(CHARGES, 7),
      stays('tillflow_webhooks_total{result="hinted"}', 7),
    ],
  },
  {
    alert: 'TillflowWebhooksForged',
    fires: [grows('tillflow_webhooks_total{result="refused"}', 1)],
    summary: 'The API has refused 50 webhooks in an hour: their signatures do not match',
    quiet: [['tillflow_webhooks_total{result="refused"}', '0x10 18x50']],
  },
  {
    alert: 'TillflowWebhooksMissing',
    fires: [grows(CHARGES, 1), stays('tillflow_webhooks_total{result="hinted"}', 7)],
    summary: 'The provider accepted charges for an hour, and no webhook of it was accepted',
    quiet: [grows(CHARGES, 1), ['tillflow_webhooks_total{result="hinted"}', '0x10 3x50']],
  },
  {
    alert: 'TillflowWebhooksMissing',
    // A stranger sends some.
    fires: [grows(CHARGES, 1), grows('tillflow_webhooks_total{result="refused"}', 1)],
    summary: 'The provider accepted charges for an hour, and no webhook of it was accepted',
    quiet: [grows(CHARGES, 1), ['tillflow_webhooks_total{result="ignored"}', '0x10 3x50']],
  },
  {
    alert: 'TillflowWebhooksFail',
    fires: [grows('tillflow_webhooks_total{result="failed"}', 1)],
    summary: 'The API cannot store webhooks and answers them with 503',
    quiet: [['tillflow_webhooks_total{result="failed"}', '0x45 5x15']],
  },
  {
    alert: 'TillflowWebhooksLate',
    fires: observed('tillflow_webhook_lag_seconds', '60', '300'),
    summary: 'One webhook in ten arrives later than 4m 36s',
    quiet: observed('tillflow_webhook_lag_seconds', '15', '60'),
  },
  {
    alert: 'TillflowEventTailStopped',
    fires: [stays('tillflow_event_tail_up', 0), stays('tillflow_temporal_up', 1)],
    summary: 'The event tail does not run',
    quiet: [stays('tillflow_event_tail_up{instance="a"}', 0), stays('tillflow_temporal_up{instance="a"}', 0)],
  },
  {
    alert: 'TillflowEventTailBehind',
    fires: [stays('tillflow_event_tail_pass_age_seconds', 400), stays('tillflow_event_tail_failing', 0)],
    summary: "The event tail has not read the provider's events for a while",
    quiet: [stays('tillflow_event_tail_pass_age_seconds', 300), stays('tillflow_event_tail_failing', 0)],
  },
  {
    alert: 'TillflowEventTailBehind',
    fires: [stays('tillflow_event_tail_pass_age_seconds', 15), stays('tillflow_event_tail_failing', 1)],
    summary: "The event tail has not read the provider's events for a while",
    quiet: [],
  },
  {
    alert: 'TillflowEventsUnplaced',
    fires: [stays('tillflow_event_tail_unplaced_events', 2)],
    summary: '2 events could not be delivered',
    quiet: [stays('tillflow_event_tail_unplaced_events', 0)],
  },
  {
    alert: 'TillflowEventEndpointFails',
    fires: [stays('tillflow_event_endpoint_failing_age_seconds', 3_660)],
    summary: 'An endpoint has accepted no event for 1h 1m 0s',
    quiet: [stays('tillflow_event_endpoint_failing_age_seconds', 3_600)],
  },
  {
    alert: 'TillflowEventFeedBehind',
    fires: [stays('tillflow_event_feed_age_seconds', 901)],
    summary: 'Other systems get no events',
    quiet: [stays('tillflow_event_feed_age_seconds', 900)],
  },
  {
    alert: 'TillflowApiDown',
    fires: [stays('up{job="tillflow-api",instance="a"}', 0), stays('up{job="tillflow-api",instance="b"}', 0)],
    summary: 'No API answers',
    quiet: [stays('up{job="tillflow-api",instance="a"}', 0), stays('up{job="tillflow-api",instance="b"}', 1)],
  },
  {
    alert: 'TillflowApiDown',
    fires: [stays('up{job="tillflow-worker"}', 1)],
    labels: { job: 'tillflow-api' },
    summary: 'No API answers',
    quiet: [stays('up{job="tillflow-api"}', 1)],
  },
  {
    alert: 'TillflowApiStuck',
    fires: [stays('up{job="tillflow-api",instance="a"}', 0), stays('up{job="tillflow-api",instance="b"}', 1)],
    labels: { job: 'tillflow-api', instance: 'a' },
    summary: 'The API a does not answer',
    quiet: [stays('up{job="tillflow-api",instance="a"}', 0), stays('up{job="tillflow-api",instance="b"}', 0)],
  },
  {
    alert: 'TillflowWorkerDown',
    fires: [stays('up{job="tillflow-worker",instance="a"}', 0)],
    summary: 'No worker answers',
    quiet: [stays('up{job="tillflow-worker",instance="a"}', 0), stays('up{job="tillflow-worker",instance="b"}', 1)],
  },
  {
    alert: 'TillflowWorkerDown',
    fires: [stays('up{job="tillflow-api"}', 1)],
    labels: { job: 'tillflow-worker' },
    summary: 'No worker answers',
    quiet: [stays('up{job="tillflow-worker"}', 1)],
  },
  {
    alert: 'TillflowWorkerStuck',
    fires: [stays('up{job="tillflow-worker",instance="a"}', 0), stays('up{job="tillflow-worker",instance="b"}', 1)],
    labels: { job: 'tillflow-worker', instance: 'a' },
    summary: 'The worker a does not answer',
    quiet: [stays('up{job="tillflow-worker",instance="a"}', 0), stays('up{job="tillflow-worker",instance="b"}', 0)],
  },
  {
    alert: 'TillflowNoPollers',
    fires: [
      stays('up{job="tillflow-worker"}', 1),
      stays('tillflow_worker_pollers{kind="workflow"}', 0),
      stays('tillflow_worker_pollers{kind="activity"}', 1),
    ],
    labels: { kind: 'workflow' },
    summary: 'No worker of the current build polls Temporal for workflow',
    quiet: [
      stays('up{job="tillflow-worker"}', 1),
      stays('tillflow_worker_pollers{kind="workflow",instance="a"}', 0),
      stays('tillflow_worker_pollers{kind="workflow",instance="b"}', 1),
    ],
  },
  {
    alert: 'TillflowNoPollers',
    fires: [stays('up{job="tillflow-worker"}', 1), stays('tillflow_worker_pollers{kind="activity"}', 0)],
    labels: { kind: 'activity' },
    summary: 'No worker of the current build polls Temporal for activity',
    // TillflowWorkerDown fires.
    quiet: [stays('up{job="tillflow-worker"}', 0), stays('tillflow_worker_pollers{kind="activity"}', 0)],
  },
  {
    alert: 'TillflowWorkflowsStuck',
    fires: [stays('tillflow_stuck_workflows', 2)],
    summary: '2 workflows cannot continue: the worker code fails in them',
    quiet: [stays('tillflow_stuck_workflows', 0)],
  },
  {
    alert: 'TillflowTemporalDown',
    fires: [stays('tillflow_temporal_up', 0)],
    summary: 'The API cannot read Temporal',
    quiet: [stays('tillflow_temporal_up{instance="a"}', 0), stays('tillflow_temporal_up{instance="b"}', 1)],
  },
  {
    alert: 'TillflowBusinessUnread',
    // The clock of these tests begins at 0.
    fires: [stays('tillflow_business_read_timestamp_seconds', 600)],
    summary: 'The metrics of the business are 40m 0s old',
    quiet: [grows('tillflow_business_read_timestamp_seconds', 60)],
  },
  {
    alert: 'TillflowTasksWait',
    fires: observed(WAITS, '1', '5'),
    summary: 'One step in twenty waits longer than 4.8s for a worker',
    quiet: observed(WAITS, '0.5', '1'),
  },
  {
    alert: 'TillflowWorkerClock',
    fires: [stays('tillflow_worker_clock_offset_seconds{instance="worker:8081",of="temporal"}', -600)],
    labels: { instance: 'worker:8081', of: 'temporal' },
    summary: 'The clock of worker:8081 differs by 10m 0s from the clock of temporal',
    quiet: [
      stays('tillflow_worker_clock_offset_seconds{instance="worker:8081",of="temporal"}', 4),
      stays('tillflow_worker_clock_offset_seconds{instance="worker:8081",of="provider"}', -4),
    ],
  },
  {
    alert: 'TillflowSettingsFileWrong',
    fires: [stays('tillflow_settings_file_mistakes{file="KEYS_FILE"}', 2)],
    labels: { file: 'KEYS_FILE' },
    summary: 'KEYS_FILE has 2 mistakes, and its last good content stays in force',
    quiet: [stays('tillflow_settings_file_mistakes{file="KEYS_FILE"}', 0)],
  },
  {
    alert: 'TillflowSlotsUsedUp',
    fires: [stays('temporal_worker_task_slots_available{worker_type="ActivityWorker"}', 0)],
    labels: { worker_type: 'ActivityWorker' },
    summary: 'A worker has no free slot for another ActivityWorker task',
    quiet: [
      stays('temporal_worker_task_slots_available{worker_type="ActivityWorker"}', 1),
      stays('temporal_worker_task_slots_available{worker_type="LocalActivityWorker"}', 0),
    ],
  },
  {
    alert: 'TillflowRequestsFail',
    fires: [grows(`${REQUESTS}{status="503"}`, 1), grows(`${REQUESTS}{status="201"}`, 9)],
    summary: 'The API answers 10% of the requests with a 5xx',
    quiet: [grows(`${REQUESTS}{status="503"}`, 1), grows(`${REQUESTS}{status="404"}`, 20)],
  },
  {
    alert: 'TillflowRequestsFail',
    fires: [grows(`${REQUESTS}{status="503"}`, 1), stays('tillflow_temporal_up', 1)],
    summary: 'The API answers 100% of the requests with a 5xx',
    // TillflowTemporalDown fires.
    quiet: [grows(`${REQUESTS}{status="503"}`, 1), stays('tillflow_temporal_up', 0)],
  },
  {
    alert: 'TillflowRequestsFail',
    fires: [
      grows(`${REQUESTS}{route="/v1/checkouts",status="503"}`, 1),
      grows(`${REQUESTS}{route="/health/live",status="200"}`, 99),
    ],
    summary: 'The API answers 100% of the requests with a 5xx',
    quiet: [
      grows(`${REQUESTS}{route="/v1/checkouts",status="201"}`, 1),
      grows(`${REQUESTS}{route="/health/ready",status="503"}`, 99),
    ],
  },
];
