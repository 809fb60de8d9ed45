/** One problem. */
export type Finding = {
  /** A fixed name of the problem, for programs. */
  readonly code: string;
  readonly what: string;
  /** The consequence while nothing is done. */
  readonly means: string;
  readonly remedy: string;
};

/** The result for one area: its problems, and a short text about what was checked. */
export type Check = {
  readonly area: string;
  readonly findings: readonly Finding[];
  /** Unsafe settings with which the programs still start. They do not change the exit code. */
  readonly warnings?: readonly Finding[];
  readonly seen: string;
};
