/** Exit codes of every command. */
export const EXIT = {
  ok: 0,
  /** Something was found that needs a person: a finding, a break, a refusal, nothing of that name. */
  finding: 1,
  /** The command, an option or a setting is wrong; nothing was done. */
  usage: 2,
  /** Temporal, or what the command works on, cannot be reached. What was asked may still have happened: it says so. */
  unreachable: 3,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The command line is not understood. The message says what is wrong with it. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** What the command works on does not answer. The message says what, and what is known of the effect. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}
