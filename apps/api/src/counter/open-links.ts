import { Injectable } from '@nestjs/common';
import { CounterLinks, type TillSession } from '@tillflow/temporal';
import { Problem } from '../problems/problem.js';
import { Settings } from '../providers.js';
import { unavailable } from '../temporal/failures.js';
import { TemporalAccess } from '../temporal/temporal.provider.js';
import { hasExpired } from './till-tokens.js';

/** How long the process believes that a link is valid. So a revoked link ends everywhere within this time. Milliseconds. */
const KEEP_MS = 5_000;
/** How long a read may take, in milliseconds. */
const WITHIN_MS = 3_000;
/** The process remembers at most so many links. */
const MOST = 10_000;

type Read = { readonly at: number; readonly isOpen: Promise<boolean> };

/** Whether the links of sessions are still valid. One read answers all requests of a few seconds. */
@Injectable()
export class OpenLinks {
  readonly #links: CounterLinks;
  readonly #reads = new Map<string, Read>();

  constructor(temporal: TemporalAccess, settings: Settings) {
    const taskQueue = settings.values.TEMPORAL_TASK_QUEUE;
    this.#links = new CounterLinks(temporal, { taskQueue, readWithinMs: WITHIN_MS, bounded: temporal.inBackground });
  }

  /** @throws {Problem} `unauthorized` when the link has expired or was revoked; `temporal_unavailable`. */
  async mustBeOpen(session: TillSession): Promise<void> {
    if (hasExpired(session)) throw new Problem('unauthorized', 'The link has expired. Create a new one');
    if (!(await this.#isOpen(session.link))) {
      throw new Problem('unauthorized', 'The link was revoked, or it has expired. Create a new one');
    }
  }

  /** The link was revoked by this process. */
  forget(link: string): void {
    this.#reads.delete(link);
  }

  async #isOpen(link: string): Promise<boolean> {
    const known = this.#reads.get(link);
    if (known !== undefined && performance.now() - known.at < KEEP_MS) return known.isOpen;
    const isOpen = this.#links.isOpen(link).catch((error: unknown) => {
      this.#reads.delete(link);
      throw unavailable(error);
    });
    if (this.#reads.size >= MOST) this.#reads.clear();
    this.#reads.set(link, { at: performance.now(), isOpen });
    return isOpen;
  }
}
