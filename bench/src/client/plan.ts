/** How long a run measures what. */
export type Plan = {
  /** Laps of each contestant with each operation at each concurrency. */
  readonly rounds: number;
  readonly lapMs: number;
  /** Before each lap, not measured. */
  readonly leadInMs: number;
  /** One lap of this length each before the first round. */
  readonly warmUpMs: number;
  /** How long each single cost is measured. */
  readonly costMs: number;
};

/** About seven minutes. */
export const FULL: Plan = { rounds: 15, lapMs: 400, leadInMs: 80, warmUpMs: 1_000, costMs: 1_500 };

/** Under a minute: shows that it works; its figures mean less. */
export const QUICK: Plan = { rounds: 5, lapMs: 120, leadInMs: 30, warmUpMs: 300, costMs: 300 };
