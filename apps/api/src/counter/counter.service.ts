import { Injectable } from '@nestjs/common';
import { businessDayOf, instant } from '@tillflow/domain';
import { businessDayRule, CounterLinks, isWithin, newCounterLink, type TillSession } from '@tillflow/temporal';
import { describePlace, type Asker } from '../auth/caller.js';
import { DayReportsService } from '../day-reports/day-reports.service.js';
import { Problem } from '../problems/problem.js';
import { Settings } from '../providers.js';
import { unavailable } from '../temporal/failures.js';
import { TemporalAccess } from '../temporal/temporal.provider.js';
import type { CreateLink, LinkReply, LinksReply, NewSessionReply, SessionReply, TodayReply } from './counter.schema.js';
import { OpenLinks } from './open-links.js';
import { TillTokens } from './till-tokens.js';

/** How long a call to Temporal may take, in milliseconds. */
const WITHIN_MS = 5_000;

/** The rules of the API for the counter. */
@Injectable()
export class CounterService {
  readonly #links: CounterLinks;

  constructor(
    temporal: TemporalAccess,
    private readonly settings: Settings,
    private readonly tokens: TillTokens,
    private readonly openLinks: OpenLinks,
    private readonly reports: DayReportsService,
  ) {
    const taskQueue = settings.values.TEMPORAL_TASK_QUEUE;
    this.#links = new CounterLinks(temporal, { taskQueue, readWithinMs: WITHIN_MS, bounded: temporal.within });
  }

  /** A link expires with the key that creates it. @throws {Problem} `forbidden` for a key of other stores or tills */
  async createLink({ terminal, store, expires_in }: CreateLink, { by, key, place }: Asker): Promise<LinkReply> {
    const till = { terminal, store: store === undefined ? null : { id: store.id, name: store.name ?? null } };
    if (place !== undefined && !isWithin(place, till)) {
      throw new Problem('forbidden', `The key sells only at ${describePlace(place)}`);
    }
    const left = Math.floor(((key?.notAfter ?? Number.POSITIVE_INFINITY) - Date.now()) / 1_000);
    const link = newCounterLink(till, Math.min(expires_in, left), by);
    await asked(() => this.#links.create(link));
    return { ...link, url: this.tokens.address(this.settings.publicUrl, link) };
  }

  async links(): Promise<LinksReply> {
    return { data: await asked(() => this.#links.list()), next_cursor: null };
  }

  /** @throws {Problem} `not_found` when no valid link has this id, or only one that the key may not see */
  async revoke(id: string, { by, place }: Asker): Promise<void> {
    const link = place === undefined ? undefined : await asked(() => this.#links.get(id));
    const isReached = place === undefined || (link && isWithin(place, link)) === true;
    const isRevoked = isReached && (await asked(() => this.#links.revoke(id, by)));
    this.openLinks.forget(id);
    if (!isRevoked) throw new Problem('not_found', 'No valid link has this id');
  }

  /** @throws {Problem} `unauthorized` when the link is not valid any more, or never was */
  async open(token: string): Promise<NewSessionReply> {
    const session = this.tokens.inLink(token);
    if (session === null) throw new Problem('unauthorized', 'The API did not sign this link. Create a new one');
    await this.openLinks.mustBeOpen(session);
    return { ...this.session(session), session: this.tokens.sessionToken(session) };
  }

  session({ terminal, store, expires }: TillSession): SessionReply {
    const { SHOP_NAME, CURRENCIES } = this.settings.values;
    return {
      account: this.settings.account,
      terminal,
      store,
      shop: SHOP_NAME ?? null,
      currencies: [...CURRENCIES],
      expires_at: new Date(expires * 1_000).toISOString(),
      now: new Date().toISOString(),
    };
  }

  /** @throws {Problem} `overloaded` while the report is not ready */
  async today(till: TillSession): Promise<TodayReply> {
    const { date } = businessDayOf(instant(Date.now()), businessDayRule(this.settings.values));
    const totals = await this.reports.ofTill(date, till);
    return {
      date,
      totals: totals.map(({ currency, sales, refunds, voids }) => ({
        currency,
        sales,
        refunds: { count: refunds.count + voids.count, amount: refunds.amount + voids.amount },
      })),
    };
  }
}

async function asked<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw unavailable(error);
  }
}
