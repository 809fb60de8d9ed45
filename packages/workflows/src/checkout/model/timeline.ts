import { formatInstant, type Instant } from '@tillflow/domain';
import type { Attributed } from '../../shared/requester.js';
import type { TimelineEntry } from '../types.js';

/** A hint of this kind comes from a reconciliation, not from an event of the provider. */
export const RECONCILIATION = 'reconciliation';

/**
 * The timeline keeps at most this many entries, so that the memo stays small. It drops the oldest webhook first, then
 * the first entry of the second half that no one requested, then the first entry of the second half.
 */
const TIMELINE_LIMIT = 60;

/** What happened to the checkout, oldest entry first. */
export class Timeline {
  constructor(private readonly entries: TimelineEntry[]) {}

  get all(): readonly TimelineEntry[] {
    return this.entries;
  }

  /** @param requester who requested it and from where, when a person or another system did. */
  note(now: Instant, what: string, detail?: string, { by, origin }: Attributed = {}): void {
    this.entries.push({
      at: formatInstant(now),
      what,
      ...(detail === undefined ? {} : { detail }),
      ...(by === undefined ? {} : { by }),
      ...(origin === undefined ? {} : { origin }),
    });
    if (this.entries.length <= TIMELINE_LIMIT) return;
    const webhook = this.entries.findIndex((entry) => entry.what === 'webhook');
    const middle = TIMELINE_LIMIT / 2;
    const unasked = this.entries.findIndex((entry, index) => index >= middle && entry.by === undefined);
    this.entries.splice([webhook, unasked, middle].find((index) => index !== -1) ?? middle, 1);
  }
}
