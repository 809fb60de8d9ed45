import { sum } from '../../statistics.js';
import { attributesOf, kindOf, type HistoryEvent } from '../histories.js';
import type { Step } from './steps.js';

type Run = { readonly events: readonly HistoryEvent[] };

/**
 * Reads from the runs of a real checkout the steps that produce the same events.
 * @throws {Error} for an event that no step produces.
 */
export function shapeOf(runs: readonly Run[]): Step[][] {
  return runs.map(({ events }, index) => stepsOf(events, inputBytesOf(runs[index + 1])));
}

/** Bytes of a run's input. 0 without a run. */
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
  /** Index of the first step of the current workflow task: the workflow answers an update before it. */
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
        if (!WITHOUT_STEP.has(kind)) throw new Error(`No step produces ${kind}`);
    }
  }
  return steps;
}

/** Events that follow from the steps, or come from outside. */
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

/** Bytes of all payloads: of a list, or of a memo's fields with their names. */
function payloadBytes(holder: unknown): number {
  const { payloads = [], fields = {} } = (holder ?? {}) as {
    readonly payloads?: readonly Payload[];
    readonly fields?: Readonly<Record<string, Payload>>;
  };
  const named = Object.entries(fields).map(([name, payload]) => name.length + bytesOf(payload));
  return sum([...payloads.map(bytesOf), ...named]);
}

/** Bytes from the server, or base64 in a recorded history. */
type Payload = { readonly data?: Uint8Array | string | null };

function bytesOf({ data }: Payload): number {
  if (data === null || data === undefined) return 0;
  return typeof data === 'string' ? Buffer.byteLength(data, 'base64') : data.length;
}
