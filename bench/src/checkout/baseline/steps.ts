/** The input of the bare shape. */
export type BareInput = {
  /** How long each activity waits, as the provider would, in milliseconds. */
  readonly waitMs: number;
  /** Makes the input as large as that of a checkout. */
  readonly padding: string;
};

/**
 * Bytes of the payloads of a paid checkout with 200 bytes of metadata. Measured once, and then fixed with the shape.
 */
export const BYTES = {
  memoAtStart: 550,
  source: 67,
  chargeCall: 506,
  charge: 514,
  awaitingMemo: 871,
  hint: 115,
  retrieved: 515,
  paidMemo: 926,
} as const;

/** A text of `bytes` bytes as a payload. */
export function filler(bytes: number): string {
  return 'x'.repeat(Math.max(0, Math.round(bytes) - 2));
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
