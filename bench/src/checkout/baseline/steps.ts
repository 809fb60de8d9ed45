/**
 * One step of a run, with the bytes of its payloads. `call` is an activity, `answer` the answer to `begin`, `wait` a wait
 * for a hint with a timer that is then cancelled, `sleep` a timer that stays, and `continue` the next run.
 */
export type Step =
  | readonly ['call', inputBytes: number, resultBytes: number]
  | readonly ['memo', bytes: number]
  | readonly ['attributes']
  | readonly ['answer']
  | readonly ['wait']
  | readonly ['sleep']
  | readonly ['continue', inputBytes: number];

/** The bare shape of a checkout: the steps of each run, in order. Short, because it is a payload itself. */
export type Shape = {
  readonly runs: readonly (readonly Step[])[];
  /** How long each activity waits, as the provider would, in milliseconds. */
  readonly waitMs: number;
  /** Makes the input as large as that of a checkout. */
  readonly padding: string;
};

/** A text of `bytes` bytes as a payload. */
export function filler(bytes: number): string {
  return 'x'.repeat(Math.max(0, Math.round(bytes) - 2));
}

/** Adds the padding that makes the shape `bytes` bytes as a payload. It never shortens. */
export function padded(shape: Omit<Shape, 'padding'>, bytes: number): Shape {
  const without = JSON.stringify({ ...shape, padding: '' }).length;
  return { ...shape, padding: 'x'.repeat(Math.max(0, bytes - without)) };
}

/** The input of the baselines' only activity. */
export type NothingCall = {
  /** Makes the call as large as that of a checkout. */
  readonly padding: string;
  /** How long the activity waits, in milliseconds. */
  readonly waitMs: number;
  readonly resultBytes: number;
};

export type BaselineActivities = { readonly nothing: (call: NothingCall) => Promise<string> };
