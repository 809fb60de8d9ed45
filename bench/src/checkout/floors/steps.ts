/**
 * One thing that a run does, with the bytes of its payloads: an activity, a memo, an upsert of search attributes, the
 * answer to `begin`, the wait for a hint with a timer that is then cancelled, a timer that stays, the next run.
 */
export type Step =
  | readonly ['call', inputBytes: number, resultBytes: number]
  | readonly ['memo', bytes: number]
  | readonly ['attributes']
  | readonly ['answer']
  | readonly ['wait']
  | readonly ['sleep']
  | readonly ['continue', inputBytes: number];

/** The bare shape of a checkout: what each of its runs does, in its order. Short, because it is a payload itself. */
export type Shape = {
  readonly runs: readonly (readonly Step[])[];
  /** What the provider would take for each call, in ms. */
  readonly waitMs: number;
  /** Makes the input as large as the product's. */
  readonly padding: string;
};

/** A text that takes so many bytes as a payload. */
export function filler(bytes: number): string {
  return 'x'.repeat(Math.max(0, Math.round(bytes) - 2));
}

/** The shape with the padding that makes it so many bytes as a payload, if it is not longer already. */
export function padded(shape: Omit<Shape, 'padding'>, bytes: number): Shape {
  const without = JSON.stringify({ ...shape, padding: '' }).length;
  return { ...shape, padding: 'x'.repeat(Math.max(0, bytes - without)) };
}
