import { setTimeout as sleep } from 'node:timers/promises';
import { isCheckoutStatus, isInstant, isReference } from '@tillflow/domain';
import {
  countOpenWhere,
  isOpenWhere,
  isTemporalFailure,
  NotAcceptedError,
  openCheckoutsWhere,
  type CheckoutFilters,
  type Checkouts,
  type StoredCheckout,
  type TemporalSettings,
} from '@tillflow/temporal';
import type { Resolution } from '@tillflow/workflows';
import { cannotBeRead } from '../checkouts.js';
import { EXIT, UnreachableError, UsageError, type Report } from '../command.js';
import { hasWorker, withTemporal, type Engine } from '../temporal.js';

const DEFAULT_RATE = 25;
const MAX_RATE = 1_000;
/** A lookup takes a tenth of a second, and up to 45 s while the provider is down. */
const CONCURRENCY = 32;
const WITHIN_MS = 60_000;
/** The failures in a row after which the command stops: Temporal or the workers may be down. */
const MAX_FAILURES_IN_A_ROW = CONCURRENCY;
const PROGRESS_EVERY_MS = 1_000;
const NO_WORKER = 'No worker answers, so nothing was requested. Run `pnpm tillflow doctor`, then repeat the command.';
/** How many checkouts a report for people names. */
const NAMED = 20;

/** The part of the help of `resolve` that is about many checkouts. */
export const MANY_DETAILS: readonly string[] = [
  '  --query <filter>  every open checkout that matches, with --look only. Filters as of GET /v1/checkouts, and attention:',
  '                    "attention", "status=awaiting_payment&store=silom", terminal=, from=, to=',
  `  --rate <n>        how many checkouts per second are asked at most, 1 to ${MAX_RATE}; default: ${DEFAULT_RATE}`,
  '',
  'With --query you can stop the command and run it again: a checkout that no longer matches is not asked again. Exit code',
  '1: a checkout still matches after the lookup, or its lookup failed. Exit code 3: Temporal or the workers are down.',
];

/** The request of `resolve --query`. */
export type ManyRequest = {
  readonly query: string | undefined;
  readonly rate: string | undefined;
  readonly dryRun: boolean;
  readonly resolution: Resolution;
};

/** A lookup that was refused, or that nothing answered. */
type Failed = { readonly id: string; readonly why: string };

/**
 * Asks every open checkout that matches to look everything up at the provider, as `resolve --look` asks one.
 * @param progress called about once a second
 * @throws {UsageError} @throws {UnreachableError} when no worker runs.
 */
export async function resolveMany(
  { query = '', rate: rateText, dryRun, resolution }: ManyRequest,
  settings: TemporalSettings,
  progress: (line: string) => void,
): Promise<Report> {
  if (resolution.action !== 'look') throw new UsageError('--query is only valid with --look');
  const filters = filtersOf(query);
  const rate = rateOf(rateText);
  return withTemporal(settings, async (engine) => {
    const unreadable = new Set<string>();
    const { TEMPORAL_TASK_QUEUE: taskQueue } = settings;
    const found = openCheckoutsWhere(engine.checkouts, filters, taskQueue, (workflow) => {
      unreadable.add(workflow);
    });
    if (dryRun) return dryRunOf(await idsOf(found), unreadable);
    const total = await countOpenWhere(engine.checkouts, filters, taskQueue);
    if (total > 0 && !(await hasWorker(engine.temporal, taskQueue))) throw new UnreachableError(NO_WORKER);
    const round = new Round(engine, filters, resolution, { rate, total, progress, taskQueue });
    await round.run(found);
    return round.report(unreadable);
  });
}

/** One run of the command: asks at a limited rate, a limited number at a time, and counts. */
class Round {
  #asked = 0;
  #failuresInARow = 0;
  #nextAt = 0;
  #reportedAt = 0;
  /** When the last checkout that answered was created: the newest are asked first. Empty: none has answered. */
  #reached = '';
  #stoppedBecause: string | null = null;
  readonly #still: string[] = [];
  readonly #failed: Failed[] = [];

  constructor(
    private readonly engine: Engine,
    private readonly filters: CheckoutFilters,
    private readonly resolution: Resolution,
    private readonly limits: {
      readonly rate: number;
      readonly total: number;
      readonly progress: (line: string) => void;
      readonly taskQueue: string;
    },
  ) {}

  /** Ends early when Temporal or the workers are down. */
  async run(found: AsyncGenerator<StoredCheckout>): Promise<void> {
    const ask = async (): Promise<void> => {
      for (let next = await found.next(); next.done !== true; next = await found.next()) {
        await this.#askOne(next.value);
        if (this.#stoppedBecause !== null) return;
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, ask));
    await found.return(undefined);
  }

  report(unreadable: ReadonlySet<string>): Report {
    const resolved = this.#asked - this.#still.length - this.#failed.length;
    const isDone = this.#still.length + this.#failed.length + unreadable.size === 0;
    const stopped = this.#stoppedBecause;
    return {
      exit: stopped === null ? (isDone ? EXIT.ok : EXIT.finding) : EXIT.unreachable,
      json: {
        stopped,
        reached: this.#reached === '' ? null : this.#reached,
        asked: this.#asked,
        resolved,
        still_matching: this.#still,
        failed: this.#failed,
        unreadable: [...unreadable],
      },
      lines: [
        ...(stopped === null ? [] : [stopped]),
        `asked: ${this.#asked}`,
        `no longer match: ${resolved}`,
        `still match: ${this.#still.length}`,
        ...named(this.#still),
        `failed: ${this.#failed.length}`,
        ...named(this.#failed.map(({ id, why }) => `${id}: ${why}`)),
        ...[...unreadable].map(cannotBeRead),
      ],
    };
  }

  async #askOne({ intent }: StoredCheckout): Promise<void> {
    await this.#turn();
    const { id, created_at } = intent;
    const why = await this.#failureOf(this.engine.checkouts, intent);
    this.#asked += 1;
    if (why === null) {
      this.#failuresInARow = 0;
      this.#reached = created_at;
    } else {
      this.#failed.push({ id, why });
      this.#failuresInARow += 1;
      if (this.#failuresInARow % MAX_FAILURES_IN_A_ROW === 0) await this.#stopIfDown(why);
    }
    this.#showProgress();
  }

  /** Many checkouts may be stuck although all others can be asked. */
  async #stopIfDown(why: string): Promise<void> {
    const isUp = await hasWorker(this.engine.temporal, this.limits.taskQueue).catch(() => false);
    if (isUp) return;
    this.#stoppedBecause = `Stopped after ${this.#asked} checkouts: Temporal or the workers are down (${why}). Run \`pnpm tillflow doctor\`, then repeat the command.`;
  }

  /** Why the lookup failed, or null. Also notes whether the checkout still matches. */
  async #failureOf(checkouts: Checkouts, key: StoredCheckout['intent']): Promise<string | null> {
    try {
      const asked = await checkouts.resolve(key, this.resolution, WITHIN_MS);
      if (asked.kind === 'refused') return `refused (${asked.code}): ${asked.reason}`;
      // A checkout that has closed meanwhile is not open any more.
      if (asked.kind === 'closed') return null;
      if (isOpenWhere(await checkouts.get(key), this.filters)) this.#still.push(key.id);
      return null;
    } catch (error) {
      if (error instanceof NotAcceptedError) return 'no worker answered in time';
      if (isTemporalFailure(error)) return `Temporal failed: ${error instanceof Error ? error.message : String(error)}`;
      throw error;
    }
  }

  /** Waits until the rate permits one more. */
  async #turn(): Promise<void> {
    const now = performance.now();
    const at = Math.max(now, this.#nextAt);
    this.#nextAt = at + 1_000 / this.limits.rate;
    await sleep(at - now);
  }

  #showProgress(): void {
    const { total, progress } = this.limits;
    const now = performance.now();
    if (now - this.#reportedAt < PROGRESS_EVERY_MS) return;
    this.#reportedAt = now;
    progress(
      `asked: ${this.#asked} of ${total}, still match: ${this.#still.length}, failed: ${this.#failed.length}, created at ${this.#reached}`,
    );
  }
}

async function idsOf(found: AsyncGenerator<StoredCheckout>): Promise<string[]> {
  const ids: string[] = [];
  for await (const { intent } of found) ids.push(intent.id);
  return ids;
}

function dryRunOf(ids: readonly string[], unreadable: ReadonlySet<string>): Report {
  return {
    exit: unreadable.size === 0 ? EXIT.ok : EXIT.finding,
    json: { dry_run: true, matching: ids.length, checkouts: ids, unreadable: [...unreadable] },
    lines: [`would look up: ${ids.length}`, ...named(ids), ...[...unreadable].map(cannotBeRead)],
  };
}

function named(lines: readonly string[]): string[] {
  const more = lines.length - NAMED;
  return [...lines.slice(0, NAMED).map((line) => `  ${line}`), ...(more > 0 ? [`  … and ${more} more`] : [])];
}

/** @throws {UsageError} */
function filtersOf(query: string): CheckoutFilters {
  const given = new URLSearchParams(query);
  const names = [...given.keys()];
  if (names.length === 0) throw new UsageError('--query needs at least one filter, such as attention');
  const filters: Record<string, string | boolean> = {};
  for (const [name, value] of given) {
    const check = Object.hasOwn(FILTERS, name) ? FILTERS[name] : undefined;
    if (check === undefined) throw new UsageError(`--query knows ${Object.keys(FILTERS).join(', ')}, not ${name}`);
    if (Object.hasOwn(filters, name)) throw new UsageError(`--query has ${name} twice`);
    if (!check(value)) throw new UsageError(`--query has a wrong value for ${name}`);
    filters[name] = name === 'attention' ? true : value;
  }
  // Each value has passed the check of its name.
  return filters;
}

const FILTERS: Readonly<Record<string, (value: string) => boolean>> = {
  attention: (value) => value === '' || value === 'true',
  status: isCheckoutStatus,
  store: isReference,
  terminal: (value) => value !== '',
  from: isInstant,
  to: isInstant,
};

/** @throws {UsageError} */
function rateOf(text = String(DEFAULT_RATE)): number {
  const rate = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (rate < 1 || rate > MAX_RATE) throw new UsageError(`--rate must be a whole number from 1 to ${MAX_RATE}`);
  return rate;
}
