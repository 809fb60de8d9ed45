import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { isWithin } from '@tillflow/temporal';
import type { CheckoutIntent } from '@tillflow/workflows';
import { keyOf } from '../checkouts/checkouts.repository.js';
import { LinkReads } from '../checkouts/link-reads.js';
import { OpenLinks } from '../counter/open-links.js';
import { Problem } from '../problems/problem.js';
import type { Access } from './access.js';
import { placeOf, type Caller } from './caller.js';

/** Of how many checkouts the process remembers the till, and for how long: a reference can later belong to another till. */
const MOST = 10_000;
const KEEP_MS = 3_600_000;

type Where = Pick<CheckoutIntent, 'terminal' | 'store'>;

/**
 * Keeps a session of the counter, and a key of some stores or tills, to the checkouts of its place. A session ends with
 * its link. `auth/access.ts` says which routes have the id of a checkout in their address.
 */
@Injectable()
export class PlaceGuard implements CanActivate {
  /** Where checkouts were made, by id, and until when that is believed. */
  readonly #places = new Map<string, { readonly where: Where; readonly until: number }>();

  constructor(
    private readonly openLinks: OpenLinks,
    private readonly reads: LinkReads,
  ) {}

  /** @throws {Problem} `unauthorized`; `not_found` for a checkout of another place; `temporal_unavailable` */
  async canActivate(context: ExecutionContext): Promise<true> {
    const request = context.switchToHttp().getRequest<Caller>();
    const { till, params, routeOptions } = request;
    if (till !== undefined) await this.openLinks.mustBeOpen(till);
    const place = placeOf(request);
    const access: Access | undefined = routeOptions.config.access;
    if (place === undefined || access?.place !== 'checkout') return true;
    const { id } = params as { readonly id: string };
    const where = await this.#whereIs(id).catch((error: unknown) => {
      if (access.waits === true && error instanceof Problem && error.code === 'not_found') return null;
      throw error;
    });
    if (where !== null && !isWithin(place, where)) throw new Problem('not_found', 'No checkout has this id');
    return true;
  }

  async #whereIs(id: string): Promise<Where> {
    const known = this.#places.get(id);
    if (known !== undefined && performance.now() < known.until) return known.where;
    const { terminal, store } = (await this.reads.get(keyOf(id))).intent;
    if (this.#places.size >= MOST) this.#places.clear();
    const where = { terminal, ...(store === undefined ? {} : { store }) };
    this.#places.set(id, { where, until: performance.now() + KEEP_MS });
    return where;
  }
}
