import { instant, type Instant } from '@tillflow/domain';

/** The workflow's clock. Temporal replays `Date.now()`, so every replay of a history reads the same time. */
export function clock(): Instant {
  return instant(Date.now());
}
