import type { Random } from '../random.js';
import type { VirtualTime } from '../virtual/time.js';
import type { Pollers } from './pollers.js';

/** What all parts of one engine share. */
export type EngineParts = {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly pollers: Pollers;
  /** Writes a line into the trace. */
  readonly note: (what: string) => void;
  readonly counts: Record<'tasks' | 'activities' | 'timeouts' | 'failures' | 'late' | 'replays' | 'renewals', number>;
  /** What a run of workflow code must never do. */
  readonly problems: { readonly workflowId: string; readonly why: string }[];
  /** The clock of workflow tasks stands at this instant: milliseconds since 1970; null: it goes. */
  clockStandsAt: number | null;
};
