import { attributesOf, kindOf, type HistoryEvent } from '../billed-actions.js';
import type { Step } from './steps.js';

type Run = { readonly events: readonly HistoryEvent[] };

/**
 * Reads off the runs of a real checkout what the bare shape has to do for the same events.
 * @throws {Error} on an event that the bare shape cannot make.
 */
export function shapeOf(runs: readonly Run[]): Step[][] {
  return runs.map(({ events }, index) => stepsOf(events, inputBytesOf(runs[index + 1])));
}

/** Bytes of a run's input; 0 for none. */
export function inputBytesOf(run: Run | undefined): number {
  const [started] = run?.events ?? [];
  return started === undefined ? 0 : payloadBytes(attributesOf(started)['input']);
}

/** Bytes of the memo that a run was started with. */
export function memoBytesOf(run: Run): number {
  const [started] = run.events;
  return started === undefined ? 0 : payloadBytes(attributesOf(started)['memo']);
}

function stepsOf(events: readonly HistoryEvent[], nextInputBytes: number): Step[] {
  const steps: Step[] = [];
  /** Where the commands of the present workflow task begin: the answer is given before them. */
  let task = 0;
  for (const event of events) {
    const kind = kindOf(event);
    const attributes = attributesOf(event);
    switch (kind) {
      case 'workflowTaskCompleted':
        task = steps.length;
        break;
      case 'activityTaskScheduled':
        steps.push(['call', payloadBytes(attributes['input']), resultBytes(events, event)]);
        break;
      case 'workflowPropertiesModified':
        steps.push(['memo', payloadBytes(attributes['upsertedMemo'])]);
        break;
      case 'upsertWorkflowSearchAttributes':
        steps.push(['attributes']);
        break;
      case 'timerStarted':
        steps.push([wasCancelled(events, attributes['timerId']) ? 'wait' : 'sleep']);
        break;
      case 'workflowExecutionUpdateCompleted':
        steps.splice(task, 0, ['answer']);
        break;
      case 'workflowExecutionContinuedAsNew':
        steps.push(['continue', nextInputBytes]);
        break;
      default:
        if (!WITHOUT_STEP.has(kind)) throw new Error(`The bare shape has no ${kind}`);
    }
  }
  return steps;
}

/** What follows from the steps, or comes from outside. */
const WITHOUT_STEP: ReadonlySet<string> = new Set([
  'workflowExecutionStarted',
  'workflowTaskScheduled',
  'workflowTaskStarted',
  'activityTaskStarted',
  'activityTaskCompleted',
  'timerCanceled',
  'workflowExecutionUpdateAccepted',
  'workflowExecutionSignaled',
  'workflowExecutionCompleted',
]);

function resultBytes(events: readonly HistoryEvent[], scheduled: HistoryEvent): number {
  const completed = events.find(
    (event) =>
      kindOf(event) === 'activityTaskCompleted' &&
      String(attributesOf(event)['scheduledEventId']) === String(scheduled['eventId']),
  );
  return completed === undefined ? 0 : payloadBytes(attributesOf(completed)['result']);
}

function wasCancelled(events: readonly HistoryEvent[], timerId: unknown): boolean {
  return events.some((event) => kindOf(event) === 'timerCanceled' && attributesOf(event)['timerId'] === timerId);
}

/** Bytes of all payloads in it: a list of them, or a memo's fields with their names. */
function payloadBytes(holder: unknown): number {
  const { payloads = [], fields = {} } = (holder ?? {}) as {
    readonly payloads?: readonly Payload[];
    readonly fields?: Readonly<Record<string, Payload>>;
  };
  const named = Object.entries(fields).reduce((sum, [name, payload]) => sum + name.length + bytesOf(payload), 0);
  return payloads.reduce((sum, payload) => sum + bytesOf(payload), named);
}

/** As the server sends it, or, in a recorded history, as base64. */
type Payload = { readonly data?: Uint8Array | string | null };

function bytesOf({ data }: Payload): number {
  if (data === null || data === undefined) return 0;
  return typeof data === 'string' ? Buffer.byteLength(data, 'base64') : data.length;
}
