/** One thing that is not as it should be. */
export type Finding = {
  /** A fixed word. */
  readonly code: string;
  readonly what: string;
  /** What comes of it when nothing is done. */
  readonly means: string;
  readonly remedy: string;
};

/** One area that was looked at: what is wrong there, and what was seen otherwise, for people. */
export type Check = {
  readonly area: string;
  readonly findings: readonly Finding[];
  /** What is unsafe, and works: it does not change the exit code. */
  readonly warnings?: readonly Finding[];
  readonly seen: string;
};
