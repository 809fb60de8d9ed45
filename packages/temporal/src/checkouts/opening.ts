import type { Client } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { instant, type Instant } from '@tillflow/domain';
import { openedMemo, type CheckoutInput, type CheckoutMemo, type Opening } from '@tillflow/workflows';
import { decodeArrayFromPayloads, decodeMapFromPayloads } from '../connection/sdk-internals.js';
import { millisecondsOf } from '../connection/time.js';

export type HistoryPage = Awaited<ReturnType<Client['workflowService']['getWorkflowExecutionHistory']>>;
export type HistoryEvent = NonNullable<NonNullable<HistoryPage['history']>['events']>[number];
type Converter = Client['options']['loadedDataConverter'];

/** The source's answer. Absent when the request named a source. */
const MARKER = 'markerRecorded';
/** The first events of a checkout that got no message before the answer to its charge. */
const KINDS = [
  'workflowExecutionStarted',
  'workflowTaskScheduled',
  'workflowTaskStarted',
  'workflowTaskCompleted',
  MARKER,
  'activityTaskScheduled',
  'activityTaskStarted',
  'activityTaskCompleted',
  'workflowTaskScheduled',
  'workflowTaskStarted',
] as const;

/** So many events at least, and at most. */
export const OPENING_EVENTS = { least: KINDS.length - 1, most: KINDS.length };

/** The time at which Temporal's core completed a local call, in the details of its marker. */
type LocalCall = { readonly complete_time: { readonly seconds: number; readonly nanos: number } };

/**
 * The memo that the workflow is just writing, by the first events of its history: see `openedMemo`. Null when they are
 * other events, or too few.
 * @throws {UnreadablePayloadError} when they are encrypted with a key that is not configured.
 */
export async function readOpening(converter: Converter, events: readonly HistoryEvent[]): Promise<CheckoutMemo | null> {
  const hasSource = events[KINDS.indexOf(MARKER)]?.markerRecordedEventAttributes != null;
  const kinds = KINDS.filter((kind) => hasSource || kind !== MARKER);
  const opening = events.slice(0, kinds.length);
  if (opening.length < kinds.length) return null;
  if (!kinds.every((kind, index) => opening[index]?.[`${kind}EventAttributes`] != null)) return null;
  const [first] = opening;
  const started = first?.workflowExecutionStartedEventAttributes;
  const marker = hasSource ? opening[KINDS.indexOf(MARKER)]?.markerRecordedEventAttributes : null;
  const charged = opening.at(-3)?.activityTaskCompletedEventAttributes;
  const memo = (await decodeMapFromPayloads(converter, started?.memo?.fields)) as CheckoutMemo | undefined;
  const input = await decode<CheckoutInput>(converter, started?.input?.payloads);
  const outcome = await decode<Opening['charge']['outcome']>(converter, charged?.result?.payloads);
  if (memo === undefined || input === undefined || outcome === undefined) return null;
  const source = await sourceOf(converter, marker?.details);
  if (hasSource && source === null) return null;
  const [openedAt, at] = [opening[2], opening.at(-1)].map((task) => instant(millisecondsOf(task?.eventTime))) as [
    Instant,
    Instant,
  ];
  return openedMemo({ memo, input, openedAt, source, charge: { outcome, at } });
}

/** Null also for a call that failed. */
async function sourceOf(
  converter: Converter,
  details: Readonly<Record<string, { readonly payloads?: Payload[] | null }>> | null | undefined,
): Promise<Opening['source']> {
  const call = await decode<LocalCall>(converter, details?.['data']?.payloads);
  const outcome = await decode<NonNullable<Opening['source']>['outcome']>(converter, details?.['result']?.payloads);
  if (call === undefined || outcome === undefined) return null;
  return { outcome, at: instant(millisecondsOf(call.complete_time)) };
}

async function decode<T>(converter: Converter, payloads: Payload[] | null | undefined): Promise<T | undefined> {
  // Only Tillflow and Temporal's core write these payloads.
  return (await decodeArrayFromPayloads(converter, payloads))[0] as T | undefined;
}
