/** How long a run measures what. */
export type Plan = {
  /** Rounds of each lane with none and with many open. */
  readonly repeats: number;
  /** A repeat that would end later than this after the first began is left out: the run stays bounded on a slow machine. */
  readonly halfSeconds: number;
  /** How long the lanes take turns, one operation at a time, in each repeat and with each delay. */
  readonly turnSeconds: number;
  /** Floors that no rate is compared with are measured for `floorSeconds`. */
  readonly rounds: readonly {
    readonly concurrency: number;
    readonly seconds: number;
    readonly floorSeconds: number;
  }[];
  readonly warmUp: { readonly concurrency: number; readonly seconds: number };
  /** The sandbox's delay of each answer, in ms. */
  readonly delaysMs: readonly number[];
  /** Runs of `aftercare` that are open in the second half. */
  readonly open: number;
  /** Checkouts of each kind whose histories are counted. */
  readonly counted: number;
  /** Unpaid checkouts that are open at one time, for their size. */
  readonly unpaid: number;
  /** How long GETs are made, and streams are held open, in s. */
  readonly readSeconds: number;
  readonly streams: number;
};

export const FULL: Plan = {
  repeats: 4,
  halfSeconds: 720,
  turnSeconds: 16,
  rounds: [
    { concurrency: 20, seconds: 5, floorSeconds: 2 },
    { concurrency: 50, seconds: 7, floorSeconds: 3 },
  ],
  warmUp: { concurrency: 20, seconds: 5 },
  delaysMs: [0, 50],
  open: 10_000,
  counted: 3,
  unpaid: 300,
  readSeconds: 5,
  streams: 100,
};

/** Shows that the bench works; its figures mean little. */
export const QUICK: Plan = {
  ...FULL,
  repeats: 1,
  turnSeconds: 5,
  rounds: [{ concurrency: 20, seconds: 3, floorSeconds: 2 }],
  warmUp: { concurrency: 10, seconds: 2 },
  open: 300,
  counted: 2,
  unpaid: 50,
  readSeconds: 1,
  streams: 20,
};
