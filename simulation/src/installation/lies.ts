import type { FaultKind } from '../fault-kinds.js';
import type { HttpAnswer, HttpRequest } from '../network/http.js';

/** What the provider shows of a record, and what a lie changes of it. */
type Shown = Readonly<Record<string, unknown>>;
/** Null: the lie does not fit this record. */
type Change = (shown: Shown) => Shown | null;

/** A retrieved charge shows money that did not move, so a checkout that believes it is wrong. */
const moved = (change: (charge: Shown) => Shown): Change => {
  return (charge) => ({
    ...(charge['paid'] === true
      ? { refunded_amount: charge['amount'] }
      : { status: 'successful', paid: true, paid_at: new Date().toISOString() }),
    ...change(charge),
  });
};
const anotherAmount = ({ amount }: Shown): Shown => ({ amount: Number(amount) + 1 });

const MISTIMED = 'provider: read shows an impossible time of payment' satisfies FaultKind;
const OF_READS: Partial<Record<FaultKind, Change>> = {
  'provider: read shows another amount': moved(anotherAmount),
  'provider: read shows another currency': moved(() => ({ currency: 'USD' })),
  'provider: read shows another charge': moved(() => ({ id: 'chrg_test_0000000000another' })),
  'provider: read shows another checkout': moved(({ metadata }) => ({
    metadata: { ...(metadata as object), checkout: 'chk_default_another' },
  })),
  'provider: read shows another source': moved(({ source }) => ({
    source: { ...(source as object), id: 'src_test_0000000000another' },
  })),
  'provider: read shows the other mode': moved(({ livemode }) => ({ livemode: livemode !== true })),
  'provider: read shows an unknown status': () => ({ status: 'held' }),
  [MISTIMED]: ({ paid }) => (paid === true ? { paid_at: '2001-01-01T00:00:00Z' } : null),
};
const OLDER: FaultKind = 'provider: read shows an older state';
const OF_CHANGES: FaultKind = 'provider: change made, answered with another amount';

/** A drawn lie about lists lasts so long. Milliseconds. */
const LAG_MS = 50_000;
/** What a list that lags shows of its records. */
const OF_LISTS: Partial<Record<FaultKind, (records: readonly Shown[], since: number) => readonly Shown[]>> = {
  'provider: lists without the newest records': (records, since) =>
    records.filter(({ created_at: at }) => typeof at !== 'string' || Date.parse(at) <= since),
  'provider: refunds listed without keys': (records) => records.map((record) => refundWith(record, { metadata: {} })),
  'provider: refunds listed in another currency': (records) =>
    records.map((record) => refundWith(record, { currency: 'USD' })),
};
const refundWith = (record: Shown, fields: Shown): Shown =>
  record['object'] === 'refund' ? { ...record, ...fields } : record;

/** The records that decide whether a call took effect. */
const RECORD = /^\/(?:charges|sources)\/\w+$/;
const CHARGE = /^\/charges\/\w+$/;

/** Makes the provider contradict its own records: each lie changes one answer, or all lists for a while. */
export class Lies {
  readonly #due: FaultKind[] = [];
  /** For how long lists lag, and until when. */
  readonly #lags = new Map<FaultKind, { readonly milliseconds: number; readonly until: number }>();
  /** What the last two different reads of a record showed. */
  readonly #reads = new Map<string, { readonly newest: string; readonly older: string | null }>();
  /** Tillflow believes the second of two reads that show the same, so a record is shown in an older state once. */
  readonly #shownOlder = new Set<string>();
  readonly #counts: Record<string, number> = {};
  /** The paths of charges whose time of payment was wrong in an answer. */
  readonly mistimed = new Set<string>();

  constructor(private readonly time: { readonly now: number }) {}

  static includes(kind: FaultKind): boolean {
    return kind === OLDER || kind === OF_CHANGES || kind in OF_READS || kind in OF_LISTS;
  }

  /** How many answers each kind has changed. */
  get counts(): Readonly<Record<string, number>> {
    return this.#counts;
  }

  /** Changes the next answer that it fits, or all lists for a while. */
  add(kind: FaultKind): void {
    if (kind in OF_LISTS) this.lag(kind, LAG_MS);
    else this.#due.push(kind);
  }

  /** Lists show this for so long. Those that leave out records leave out what is newer. */
  lag(kind: FaultKind, milliseconds: number): void {
    this.#lags.set(kind, { milliseconds, until: this.time.now + milliseconds });
  }

  end(): void {
    this.#due.length = 0;
    this.#lags.clear();
  }

  /** @returns the answer, or a lie instead of it */
  altered({ method, path }: HttpRequest, answer: HttpAnswer | null): HttpAnswer | null {
    if (answer === null || answer.isCut || answer.status !== 200) return answer;
    const text = answer.body.toString();
    if (method !== 'GET') return replaced(answer, this.#tryChange(OF_CHANGES, text, anotherAmount));
    const lie = RECORD.test(path) ? this.#lieAbout(path, text) : null;
    return replaced(answer, this.#lagging(lie ?? text) ?? lie);
  }

  #lieAbout(path: string, text: string): string | null {
    const older = this.#olderThan(path, text);
    if (older !== null && !this.#shownOlder.has(path) && this.#take(OLDER)) {
      this.#shownOlder.add(path);
      return older;
    }
    if (!CHARGE.test(path)) return null;
    for (const kind of this.#due) {
      const change = OF_READS[kind];
      const lie = change === undefined ? null : this.#tryChange(kind, text, change);
      if (lie === null) continue;
      if (kind === MISTIMED) this.mistimed.add(path);
      return lie;
    }
    return null;
  }

  #olderThan(path: string, text: string): string | null {
    const known = this.#reads.get(path);
    if (known?.newest === text) return known.older;
    const older = known?.newest ?? null;
    this.#reads.set(path, { newest: text, older });
    return older;
  }

  /** Null when it does not fit: the answer has no amount, or none of these lies is due. */
  #tryChange(kind: FaultKind, text: string, change: Change): string | null {
    const shown = readable(text);
    if (typeof shown?.['amount'] !== 'number') return null;
    const changed = change(shown);
    return changed === null || !this.#take(kind) ? null : JSON.stringify({ ...shown, ...changed });
  }

  /** What lists in the answer show while they lag. Null when none does. */
  #lagging(text: string): string | null {
    let shown: Shown | null = null;
    const { now } = this.time;
    for (const [kind, { milliseconds, until }] of this.#lags) {
      const change = OF_LISTS[kind];
      if (change === undefined || now >= until) continue;
      shown ??= readable(text);
      if (shown === null) return null;
      const before = JSON.stringify(shown);
      shown = inLists(shown, (records) => change(records, now - milliseconds));
      if (JSON.stringify(shown) !== before) this.#count(kind);
    }
    return shown === null ? null : JSON.stringify(shown);
  }

  #take(kind: FaultKind): boolean {
    const index = this.#due.indexOf(kind);
    if (index === -1) return false;
    this.#due.splice(index, 1);
    this.#count(kind);
    return true;
  }

  #count(kind: FaultKind): void {
    this.#counts[kind] = (this.#counts[kind] ?? 0) + 1;
  }
}

/** A list with other records, or a charge with other refunds; in a list of charges, both. */
function inLists(shown: Shown, change: (records: readonly Shown[]) => readonly Shown[]): Shown {
  const { object, data, refunds } = shown;
  if (object === 'list' && Array.isArray(data)) {
    return { ...shown, data: change(data.filter(isShown).map((record) => inLists(record, change))) };
  }
  return isShown(refunds) ? { ...shown, refunds: inLists(refunds, change) } : shown;
}

function replaced(answer: HttpAnswer, text: string | null): HttpAnswer {
  if (text === null) return answer;
  const body = Buffer.from(text);
  return { ...answer, body, headers: { ...answer.headers, 'content-length': String(body.length) } };
}

/** Null for what is no object in JSON: a fault has changed the answer before. */
function readable(text: string): Shown | null {
  try {
    const value: unknown = JSON.parse(text);
    return isShown(value) ? value : null;
  } catch {
    return null;
  }
}

function isShown(value: unknown): value is Shown {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
