/** One event of a history: an object whose one field `…EventAttributes` says what happened. */
export type HistoryEvent = { readonly [name: string]: unknown };

/** What Temporal Cloud bills, by kind. Source: its pricing page, "Actions". */
export type BilledActions = {
  readonly start: number;
  readonly update: number;
  readonly signal: number;
  readonly timer: number;
  /** Tries of activities: each is one. */
  readonly activity: number;
  readonly attributes: number;
  readonly continueAsNew: number;
};

const SUFFIX = 'EventAttributes';

/** What happened: `activityTaskScheduled`, `timerStarted`… */
export function kindOf(event: HistoryEvent): string {
  const name = Object.keys(event).find(
    (key) => key.endsWith(SUFFIX) && event[key] !== null && event[key] !== undefined,
  );
  if (name === undefined) throw new Error(`An event without attributes: ${JSON.stringify(event)}`);
  return name.slice(0, -SUFFIX.length);
}

export function attributesOf(event: HistoryEvent): Readonly<Record<string, unknown>> {
  return (event[`${kindOf(event)}${SUFFIX}`] ?? {}) as Readonly<Record<string, unknown>>;
}

/**
 * Counts the billed actions of one run from its events. Exact for what ended: tries of an activity that is still
 * under way, and queries, are in no history. The start of a run that continues another is billed to the event by
 * which the other ended.
 * @throws {Error} on a kind of event of which it is not known here whether it is billed.
 */
export function billedActions(events: readonly HistoryEvent[]): BilledActions {
  const counts = { start: 0, update: 0, signal: 0, timer: 0, activity: 0, attributes: 0, continueAsNew: 0 };
  for (const event of events) {
    const kind = kindOf(event);
    const attributes = attributesOf(event);
    switch (kind) {
      case 'workflowExecutionStarted':
        if (isEmpty(attributes['continuedExecutionRunId'])) counts.start += 1;
        break;
      case 'workflowExecutionUpdateAccepted':
        counts.update += 1;
        break;
      case 'workflowExecutionSignaled':
        counts.signal += 1;
        break;
      case 'timerStarted':
        counts.timer += 1;
        break;
      case 'activityTaskScheduled':
        counts.activity += 1;
        break;
      case 'activityTaskStarted':
        // Written once, when the activity ends, with the number of its last try.
        counts.activity += Number(attributes['attempt'] ?? 1) - 1;
        break;
      case 'upsertWorkflowSearchAttributes':
        counts.attributes += 1;
        break;
      case 'markerRecorded':
        if (attributes['markerName'] !== PATCH_MARKER)
          throw new Error('Only the marker of a patch is known to be free');
        break;
      case 'workflowExecutionContinuedAsNew':
        counts.continueAsNew += 1;
        break;
      default:
        if (!FREE.has(kind)) throw new Error(`It is not known whether ${kind} is billed`);
    }
  }
  return counts;
}

/** What `patched` leaves behind. */
const PATCH_MARKER = 'core_patch';

const FREE: ReadonlySet<string> = new Set([
  'workflowTaskScheduled',
  'workflowTaskStarted',
  'workflowTaskCompleted',
  'workflowTaskTimedOut',
  'workflowTaskFailed',
  'workflowExecutionUpdateCompleted',
  'workflowPropertiesModified',
  'activityTaskCompleted',
  'activityTaskFailed',
  'activityTaskTimedOut',
  'timerCanceled',
  'timerFired',
  'workflowExecutionCompleted',
  'workflowExecutionTerminated',
]);

export function totalOf(actions: BilledActions): number {
  return Object.values(actions).reduce((sum, count) => sum + count, 0);
}

export function sumOf(all: readonly BilledActions[]): BilledActions {
  const sum = (kind: keyof BilledActions): number => all.reduce((total, actions) => total + actions[kind], 0);
  return {
    start: sum('start'),
    update: sum('update'),
    signal: sum('signal'),
    timer: sum('timer'),
    activity: sum('activity'),
    attributes: sum('attributes'),
    continueAsNew: sum('continueAsNew'),
  };
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}
