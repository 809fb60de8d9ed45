/** The workflow type. */
export const PAUSE_WORKFLOW = 'pause';

/** The id of the workflow whose open run means that the account accepts no new checkouts and attempts. */
export function pauseWorkflowId(account: string): string {
  return `pause/${account}`;
}

/** The memo of a pause, complete from its start, so that reading it needs no worker. Wire names. */
export type PauseMemo = {
  readonly reason: string;
  /** Who paused, as `Attributed` spells it. */
  readonly by: string;
  /** ISO 8601 UTC, by the clock of the one who paused. */
  readonly since: string;
};
