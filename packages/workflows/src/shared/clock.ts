import { instant, type Instant } from '@tillflow/domain';

/** The workflow's clock: `Date.now()` is replayed, so every run of a history reads the same. */
export function clock(): Instant {
  return instant(Date.now());
}
