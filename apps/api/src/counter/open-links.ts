import { Injectable } from '@nestjs/common';
import { CounterLinks, type TillSession } from '@tillflow/temporal';
import { Problem } from '../problems/problem.js';
import { Settings } from '../providers.js';
import { unavailable } from '../temporal/failures.js';
import { TemporalAccess } from '../temporal/temporal.provider.js';
import { hasExpired } from './till-tokens.js';

/** A revoked link ends everywhere within this time. Milliseconds. */
const ENDS_WITHIN_MS = 5_000;
/** How long the process believes that a link is valid, in milliseconds. */
const KEEP_MS = 3_000;
/** How long a read for a request may take, in milliseconds. */
const WITHIN_MS = 3_000;
/** How long a read for streams and waiting requests may take, in milliseconds: they go on meanwhile. */
const LOOK_WITHIN_MS = ENDS_WITHIN_MS - KEEP_MS;
/** The process remembers at most so many links. */
const MOST = 10_000;

type Read = { readonly at: number; readonly isOpen: Promise<boolean> };

/** What the sessions of one link hold open in this process. */
type Held = {
  readonly session: TillSession;
  readonly ends: Set<(why: Problem) => void>;
  timer: NodeJS.Timeout | undefined;
};

/** Whether the links of sessions are still valid. One read answers all requests of a few seconds. */
@Injectable()
export class OpenLinks {
  readonly #links: CounterLinks;
  readonly #looks: CounterLinks;
  readonly #reads = new Map<string, Read>();
  readonly #held = new Map<string, Held>();

  constructor(temporal: TemporalAccess, settings: Settings) {
    const options = { taskQueue: settings.values.TEMPORAL_TASK_QUEUE, bounded: temporal.inBackground };
    this.#links = new CounterLinks(temporal, { ...options, readWithinMs: WITHIN_MS });
    this.#looks = new CounterLinks(temporal, { ...options, readWithinMs: LOOK_WITHIN_MS });
  }

  /** @throws {Problem} `unauthorized` when the link has expired or was revoked; `temporal_unavailable`. */
  mustBeOpen(session: TillSession): Promise<void> {
    return this.#mustBeOpen(session, this.#links);
  }

  /**
   * Ends what a session holds open, within `ENDS_WITHIN_MS` after its link has expired or was revoked. While the process
   * cannot read the link, it stays open.
   * @param end gets the problem of the session
   * @returns call it when the session does not hold it open any more
   */
  hold(session: TillSession, end: (why: Problem) => void): () => void {
    const { link } = session;
    const held: Held = this.#held.get(link) ?? { session, ends: new Set(), timer: undefined };
    held.ends.add(end);
    if (held.ends.size === 1) {
      this.#held.set(link, held);
      this.#lookLater(held);
    }
    return () => {
      held.ends.delete(end);
      if (held.ends.size > 0) return;
      clearTimeout(held.timer);
      if (this.#held.get(link) === held) this.#held.delete(link);
    };
  }

  /** The link was revoked by this process. */
  forget(link: string): void {
    this.#reads.delete(link);
    const held = this.#held.get(link);
    if (held !== undefined) void this.#look(held);
  }

  /** Counts from the latest read, which may have been for a request. */
  #lookLater(held: Held): void {
    clearTimeout(held.timer);
    const now = performance.now();
    const at = this.#reads.get(held.session.link)?.at ?? now;
    held.timer = setTimeout(() => void this.#look(held), Math.max(0, at + KEEP_MS - now));
  }

  async #look(held: Held): Promise<void> {
    try {
      await this.#mustBeOpen(held.session, this.#looks);
    } catch (error) {
      // After any other error, the next look may succeed.
      if (error instanceof Problem && error.code === 'unauthorized') {
        for (const end of held.ends) end(error);
        // A stream whose reader takes nothing ends later.
        held.ends.clear();
      }
    }
    if (held.ends.size > 0) this.#lookLater(held);
  }

  async #mustBeOpen(session: TillSession, links: CounterLinks): Promise<void> {
    if (hasExpired(session)) throw new Problem('unauthorized', 'The link has expired. Create a new one');
    if (!(await this.#isOpen(session.link, links))) {
      throw new Problem('unauthorized', 'The link was revoked, or it has expired. Create a new one');
    }
  }

  async #isOpen(link: string, links: CounterLinks): Promise<boolean> {
    const known = this.#reads.get(link);
    if (known !== undefined && performance.now() - known.at < KEEP_MS) return known.isOpen;
    const isOpen = links.isOpen(link).catch((error: unknown) => {
      this.#reads.delete(link);
      throw unavailable(error);
    });
    if (this.#reads.size >= MOST) this.#reads.clear();
    this.#reads.set(link, { at: performance.now(), isOpen });
    return isOpen;
  }
}
