import proto from '@temporalio/proto';
import type { coresdk, temporal } from '@temporalio/proto';
import Long from 'long';

export type Payload = temporal.api.common.v1.IPayload;
export type Failure = temporal.api.failure.v1.IFailure;
export type Job = coresdk.workflow_activation.IWorkflowActivationJob;
export type Command = coresdk.workflow_commands.IWorkflowCommand;
export type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

/** The messages of Temporal's service. */
export const messages = proto.temporal.api.workflowservice.v1;
export const events = proto.temporal.api.enums.v1.EventType;
export const { WorkflowActivation } = proto.coresdk.workflow_activation;

/** By type of event: the field that only this type has, such as `markerRecordedEventAttributes`. */
export const attributesFields: Readonly<Record<number, string>> = Object.fromEntries(
  Object.entries(events).map(([name, type]) => {
    const words = name.toLowerCase().replace('event_type_', '');
    return [type, `${words.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())}EventAttributes`];
  }),
);

/** Temporal's statuses of a run. */
export const STATUS = { RUNNING: 1, COMPLETED: 2, FAILED: 3, CANCELED: 4, TERMINATED: 5, CONTINUED_AS_NEW: 6 } as const;
export type Status = (typeof STATUS)[keyof typeof STATUS];
export const STATUS_NAMES: Readonly<Record<Status, string>> = {
  1: 'Running',
  2: 'Completed',
  3: 'Failed',
  4: 'Canceled',
  5: 'Terminated',
  6: 'ContinuedAsNew',
};

/** Temporal's numbers of the timeouts of an activity. */
export const TIMEOUT = { START_TO_CLOSE: 1, SCHEDULE_TO_CLOSE: 3, HEARTBEAT: 4 } as const;

/** gRPC's status codes. */
export const GRPC = {
  OK: 0,
  CANCELLED: 1,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  RESOURCE_EXHAUSTED: 8,
  UNIMPLEMENTED: 12,
  UNAVAILABLE: 14,
} as const;

/** The engine refuses a call. */
export class Refusal extends Error {
  override readonly name = 'Refusal';

  constructor(
    readonly code: number,
    message: string,
    /** The type of the detail by which a client recognizes the refusal. */
    readonly detail?: { readonly type: string; readonly bytes: Uint8Array },
  ) {
    super(message);
  }
}

type Time = { readonly seconds?: unknown; readonly nanos?: number | null } | null | undefined;

export function toTime(milliseconds: number): { seconds: Long; nanos: number } {
  const seconds = Math.floor(milliseconds / 1_000);
  return { seconds: Long.fromNumber(seconds), nanos: Math.round((milliseconds - seconds * 1_000) * 1e6) };
}

export function toMs(time: Time): number {
  return Number(time?.seconds ?? 0) * 1_000 + (time?.nanos ?? 0) / 1e6;
}

/** How an activity is tried again. Times in milliseconds. */
export type Retry = {
  readonly initialMs: number;
  readonly coefficient: number;
  readonly maximumMs: number;
  readonly attempts: number;
};

/** With Temporal's values where the command has none. */
export function retryOf(policy: NonNullable<Command['scheduleActivity']>['retryPolicy']): Retry {
  return {
    initialMs: toMs(policy?.initialInterval) || 1_000,
    coefficient: policy?.backoffCoefficient || 2,
    maximumMs: toMs(policy?.maximumInterval) || 100_000,
    attempts: policy?.maximumAttempts || Infinity,
  };
}

/** @returns milliseconds until the next attempt; null when this was the last one */
export function pauseAfter(attempt: number, { initialMs, coefficient, maximumMs, attempts }: Retry): number | null {
  return attempt >= attempts ? null : Math.min(initialMs * coefficient ** (attempt - 1), maximumMs);
}
