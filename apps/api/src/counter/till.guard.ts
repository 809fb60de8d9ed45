import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { tillNameOf } from '@tillflow/temporal';
import type { Caller } from '../auth/caller.js';
import { keyOf } from '../checkouts/checkouts.repository.js';
import { LinkReads } from '../checkouts/link-reads.js';
import { Problem } from '../problems/problem.js';
import { OpenLinks } from './open-links.js';

/** The process remembers the tills of at most so many checkouts. */
const MOST = 10_000;

/**
 * A session of the counter reaches the checkouts of its own till, and as long as its link is valid. The routes that it may
 * call are marked in `access.ts`, and `id` in their addresses is the id of a checkout.
 */
@Injectable()
export class TillGuard implements CanActivate {
  /** The tills of checkouts, by id. They never change. */
  readonly #tills = new Map<string, string>();

  constructor(
    private readonly openLinks: OpenLinks,
    private readonly reads: LinkReads,
  ) {}

  /** @throws {Problem} `unauthorized`; `not_found` for a checkout of another till; `temporal_unavailable` */
  async canActivate(context: ExecutionContext): Promise<true> {
    const { till, params } = context.switchToHttp().getRequest<Caller>();
    if (till === undefined) return true;
    await this.openLinks.mustBeOpen(till);
    const { id } = params as { readonly id?: string };
    if (id !== undefined && (await this.#tillOf(id)) !== tillNameOf(till)) {
      throw new Problem('not_found', 'No checkout has this id');
    }
    return true;
  }

  async #tillOf(id: string): Promise<string> {
    const known = this.#tills.get(id);
    if (known !== undefined) return known;
    const till = tillNameOf((await this.reads.get(keyOf(id))).intent);
    if (this.#tills.size >= MOST) this.#tills.clear();
    this.#tills.set(id, till);
    return till;
  }
}
