import { setTimeout as sleep } from 'node:timers/promises';
import type { Breach } from '@tillflow/workflows/testing';
import { initialState, type CheckoutMemo } from '@tillflow/workflows';
import { chargesOf, compareRecords, COMPARED_SECTIONS, type ProviderRecords } from '../chaos/records.js';
import type { GameDayFault } from './faults.js';
import { Load } from './load.js';
import { Production, VOID_DATE_OFFSET_MINUTES } from './production.js';
import { TIMES_AS_FAST } from './rules.js';

/** An alert must fire within this time after its fault begins. Milliseconds. */
export const FIRES_WITHIN_MS = 120_000;
/** Every checkout must be final within this time after the fault ends. Milliseconds. */
export const FINAL_WITHIN_MS = 60_000;
/** All alerts must be quiet again within this time after that. Milliseconds. */
const QUIET_WITHIN_MS = 120_000;
/** How long a fault stays after its alert has fired, so that others can fire, too. */
const STAYS_MS = 5_000;
const BETWEEN_LOOKS_MS = 500;
/** Sales before each fault. */
const BEFORE_MS = 5_000;
/** At this load, an hour of the alerts' time. Milliseconds. */
const CALM_MS = 3_600_000 / TIMES_AS_FAST;

export type FaultResult = {
  readonly fault: string;
  readonly alert: string;
  /** Null: the alert did not fire in time. */
  readonly firedAfterMs: number | null;
  /** Pages that belong to the fault, besides its alert. */
  readonly alsoPages: readonly string[];
  /** Other alerts that woke a person. */
  readonly otherPages: readonly string[];
  /** Other alerts that can wait. */
  readonly tickets: readonly string[];
  readonly sales: number;
  /** From the end of the fault until all records agree. Null: not in time. */
  readonly finalAfterMs: number | null;
  readonly breaches: readonly Breach[];
  /** All alerts were quiet again in time. */
  readonly isQuiet: boolean;
};

export type GameDayResult = {
  readonly calm: { readonly seconds: number; readonly sales: number; readonly pages: readonly string[] };
  readonly faults: readonly FaultResult[];
};

export type GameDayOptions = {
  /** The path of Prometheus. */
  readonly prometheus: string;
  readonly faults: readonly GameDayFault[];
  /** Default {@link FIRES_WITHIN_MS}. */
  readonly firesWithinMs?: number;
  /** How long no alert may page anyone while all is well. Milliseconds; default: an hour of the alerts' time. */
  readonly calmMs?: number;
  readonly log: (line: string) => void;
};

/** Breaks an installation under load in each of the ways, one after the other. */
export async function runGameDay(options: GameDayOptions): Promise<GameDayResult> {
  const { prometheus, faults, firesWithinMs = FIRES_WITHIN_MS, calmMs = CALM_MS, log } = options;
  const production = await Production.start(prometheus, log);
  try {
    const day = new GameDay(production, log);
    const calm = await day.calm(calmMs);
    const results: FaultResult[] = [];
    for (const fault of faults) results.push(await day.break(fault, firesWithinMs));
    return { calm, faults: results };
  } finally {
    await production.stop();
  }
}

export const isPassed = ({ firedAfterMs, otherPages, finalAfterMs, isQuiet }: FaultResult): boolean =>
  firedAfterMs !== null && otherPages.length === 0 && finalAfterMs !== null && isQuiet;

class GameDay {
  readonly #load: Load;

  constructor(
    private readonly production: Production,
    private readonly log: (line: string) => void,
  ) {
    this.#load = new Load(production);
  }

  /** Sells for this long while all is well. */
  async calm(calmMs: number): Promise<GameDayResult['calm']> {
    await this.#quiet();
    this.#load.begin();
    await sleep(BEFORE_MS);
    this.log(`all is well for ${calmMs / 1_000} s`);
    const seen = new Alerts(this.production);
    for (const end = Date.now() + calmMs; Date.now() < end;) await seen.look();
    await seen.lookBack();
    const sales = this.#load.references.length;
    await this.#load.end();
    return { seconds: calmMs / 1_000, sales, pages: seen.pagesBut([]) };
  }

  async break(fault: GameDayFault, firesWithinMs: number): Promise<FaultResult> {
    const { name, alert, alsoPages } = fault;
    const { production } = this;
    this.log(name);
    await fault.prepare?.(production);
    await this.#quiet();
    this.#load.forget();
    this.#load.begin();
    await sleep(BEFORE_MS);

    const seen = new Alerts(production);
    const beganAt = Date.now();
    await fault.begin(production);
    while (!seen.has(alert) && Date.now() < beganAt + firesWithinMs) await seen.look();
    const firedAfterMs = seen.has(alert) ? Date.now() - beganAt : null;
    for (const end = Date.now() + STAYS_MS; Date.now() < end;) await seen.look();
    await fault.end(production);

    const endedAt = Date.now();
    const sales = this.#load.references.length;
    const breaches = await this.#untilFinal(fault, endedAt + FINAL_WITHIN_MS, seen);
    const tookMs = Date.now() - endedAt;
    const finalAfterMs = breaches.length === 0 && tookMs <= FINAL_WITHIN_MS ? tookMs : null;
    const isQuiet = await this.#quiet(seen);
    await seen.lookBack();
    const pages = seen.pagesBut([alert]);
    const isAllowed = (page: string): boolean => alsoPages?.alerts.includes(page) === true;
    return {
      fault: name,
      alert,
      firedAfterMs,
      alsoPages: pages.filter(isAllowed),
      otherPages: pages.filter((page) => !isAllowed(page)),
      tickets: seen.tickets().filter((one) => one !== alert),
      sales,
      finalAfterMs,
      breaches,
      isQuiet,
    };
  }

  /** Ends the load, and waits until no record differs. @returns what still differs at the deadline */
  async #untilFinal(fault: GameDayFault, deadline: number, seen: Alerts): Promise<readonly Breach[]> {
    const ended = this.#load.end();
    const hasEnded = (): Promise<boolean> => Promise.race([ended.then(() => true), sleep(BETWEEN_LOOKS_MS, false)]);
    for (;;) {
      await seen.look();
      const breaches = (await hasEnded()) ? await this.#compare(fault) : [SALES_GO_ON];
      if (breaches.length === 0 || Date.now() > deadline) return breaches;
    }
  }

  async #compare({ losesUnpaid }: GameDayFault): Promise<Breach[]> {
    // The sandbox's answer has every section of the request.
    const records = this.production.sandbox.state(COMPARED_SECTIONS) as ProviderRecords;
    const compare = async (reference: string): Promise<readonly Breach[]> => {
      const memo = await this.production.memoOf(reference);
      if (memo !== null) return breachesOf(memo, records, losesUnpaid === true);
      const isPaid = chargesOf(records, `chk_default_${reference}`).some(({ status }) => status === 'successful');
      return losesUnpaid === true && !isPaid ? [] : [breach(6, reference, 'Temporal has no such checkout')];
    };
    const compared = this.#load.references.map((reference) =>
      compare(reference).catch((error: unknown) => [breach(12, reference, `cannot be read: ${String(error)}`)]),
    );
    return (await Promise.all(compared)).flat();
  }

  /** Waits until no alert fires. @returns false when one still does */
  async #quiet(seen = new Alerts(this.production)): Promise<boolean> {
    for (const end = Date.now() + QUIET_WITHIN_MS; Date.now() < end;) {
      if ((await seen.look()).size === 0) return true;
    }
    return false;
  }
}

const breach = (guarantee: Breach['guarantee'], checkout: string, what: string): Breach => ({
  guarantee,
  checkout,
  what,
});
const SALES_GO_ON = breach(12, 'the load', 'sales have not ended');

function breachesOf(memo: CheckoutMemo, records: ProviderRecords, losesUnpaid: boolean): readonly Breach[] {
  const { status, attention, attempts } = memo.state ?? initialState(memo.intent);
  if (status === 'creating' || status === 'awaiting_payment' || attention !== null) {
    return [breach(12, memo.intent.id, `is ${status}, attention ${attention?.code ?? 'none'}`)];
  }
  const isForgotten = (charge: ProviderRecords['charges'][number]): boolean =>
    losesUnpaid && charge.status !== 'successful' && attempts.every(({ charge_id: id }) => id !== charge.id);
  const charges = records.charges.filter((charge) => !isForgotten(charge));
  return compareRecords({ ...records, charges }, { memo, voidDateOffsetMinutes: VOID_DATE_OFFSET_MINUTES }).breaches;
}

/** The alerts that have fired. */
class Alerts {
  /** Names, with severities. */
  readonly #seen = new Map<string, string>();
  readonly #since = Date.now();

  constructor(private readonly production: Production) {}

  /** @returns those that fire now */
  async look(): Promise<ReadonlyMap<string, string>> {
    await sleep(BETWEEN_LOOKS_MS);
    const firing = await this.production.firing();
    for (const [name, severity] of firing) this.#seen.set(name, severity);
    return firing;
  }

  /** Adds what fired between two looks, for example while a program started. */
  async lookBack(): Promise<void> {
    // Prometheus accepts no window of 0 s.
    const seconds = Math.max(1, Math.ceil((Date.now() - this.#since) / 1_000));
    for (const [name, severity] of await this.production.firing(seconds)) this.#seen.set(name, severity);
  }

  has(alert: string): boolean {
    return this.#seen.has(alert);
  }

  pagesBut(expected: readonly string[]): string[] {
    return this.#named('page').filter((name) => !expected.includes(name));
  }

  tickets(): string[] {
    return this.#named('ticket');
  }

  #named(severity: string): string[] {
    return [...this.#seen].filter(([, of]) => of === severity).map(([name]) => name);
  }
}
