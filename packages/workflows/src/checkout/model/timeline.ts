import { formatInstant, type Instant } from '@tillflow/domain';
import type { TimelineEntry } from '../types.js';

/** A hint of this kind comes from a reconciliation, not from an event of the provider. */
export const RECONCILIATION = 'reconciliation';

/** Beyond this many entries, the timeline drops webhooks first, then entries in the middle: the memo stays small. */
const TIMELINE_LIMIT = 60;

/** What happened to the checkout, oldest entry first. */
export class Timeline {
  constructor(private readonly entries: TimelineEntry[]) {}

  get all(): readonly TimelineEntry[] {
    return this.entries;
  }

  /** @param by who requested it, when a person or another system did. */
  note(now: Instant, what: string, detail?: string, by?: string): void {
    this.entries.push({
      at: formatInstant(now),
      what,
      ...(detail === undefined ? {} : { detail }),
      ...(by === undefined ? {} : { by }),
    });
    if (this.entries.length <= TIMELINE_LIMIT) return;
    const webhook = this.entries.findIndex((entry) => entry.what === 'webhook');
    this.entries.splice(webhook === -1 ? TIMELINE_LIMIT / 2 : webhook, 1);
  }
}
