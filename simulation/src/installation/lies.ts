import type { FaultKind } from '../fault-kinds.js';
import type { HttpAnswer, HttpRequest } from '../network/http.js';

/** A charge or a refund as the provider shows it, and what a lie changes of it. */
type Shown = Readonly<Record<string, unknown>>;
type Change = (shown: Shown) => Shown;

/** A retrieved charge shows money that did not move, so a checkout that believes it is wrong. */
const moved = (change: Change): Change => {
  return (charge) => ({
    ...(charge['paid'] === true
      ? { refunded_amount: charge['amount'] }
      : { status: 'successful', paid: true, paid_at: new Date().toISOString() }),
    ...change(charge),
  });
};
const anotherAmount: Change = ({ amount }) => ({ amount: Number(amount) + 1 });

const OF_READS: Partial<Record<FaultKind, Change>> = {
  'provider: read shows another amount': moved(anotherAmount),
  'provider: read shows another currency': moved(() => ({ currency: 'USD' })),
  'provider: read shows another charge': moved(() => ({ id: 'chrg_test_0000000000another' })),
  'provider: read shows another checkout': moved(({ metadata }) => ({
    metadata: { ...(metadata as object), checkout: 'chk_default_another' },
  })),
  'provider: read shows the other mode': moved(({ livemode }) => ({ livemode: livemode !== true })),
};
const OLDER: FaultKind = 'provider: read shows an older state';
const OF_CHANGES: FaultKind = 'provider: change made, answered with another amount';

/** The records that decide whether a call took effect. */
const RECORD = /^\/(?:charges|sources)\/\w+$/;
const CHARGE = /^\/charges\/\w+$/;

/** Makes the provider contradict its own records: each lie changes one answer. */
export class Lies {
  readonly #due: FaultKind[] = [];
  /** What the last two different reads of a record showed. */
  readonly #reads = new Map<string, { readonly newest: string; readonly older: string | null }>();
  /** Tillflow believes the second of two reads that show the same, so a record is shown in an older state once. */
  readonly #shownOlder = new Set<string>();
  readonly #counts: Record<string, number> = {};

  static includes(kind: FaultKind): boolean {
    return kind === OLDER || kind === OF_CHANGES || kind in OF_READS;
  }

  /** How many answers each kind has changed. */
  get counts(): Readonly<Record<string, number>> {
    return this.#counts;
  }

  /** Changes the next answer that it fits. */
  add(kind: FaultKind): void {
    this.#due.push(kind);
  }

  end(): void {
    this.#due.length = 0;
  }

  /** @returns the answer, or a lie instead of it */
  altered({ method, path }: HttpRequest, answer: HttpAnswer | null): HttpAnswer | null {
    if (answer === null || answer.isCut || answer.status !== 200) return answer;
    const text = answer.body.toString();
    if (method !== 'GET') return this.#replaced(answer, this.#tryChange(OF_CHANGES, text, anotherAmount));
    if (!RECORD.test(path)) return answer;
    const older = this.#olderThan(path, text);
    if (older !== null && !this.#shownOlder.has(path) && this.#take(OLDER)) {
      this.#shownOlder.add(path);
      return this.#replaced(answer, older);
    }
    if (!CHARGE.test(path)) return answer;
    const kind = this.#due.find((due) => due in OF_READS);
    const change = kind === undefined ? undefined : OF_READS[kind];
    if (kind === undefined || change === undefined) return answer;
    return this.#replaced(answer, this.#tryChange(kind, text, change));
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
    if (typeof shown?.['amount'] !== 'number' || !this.#take(kind)) return null;
    return JSON.stringify({ ...shown, ...change(shown) });
  }

  #take(kind: FaultKind): boolean {
    const index = this.#due.indexOf(kind);
    if (index === -1) return false;
    this.#due.splice(index, 1);
    this.#counts[kind] = (this.#counts[kind] ?? 0) + 1;
    return true;
  }

  #replaced(answer: HttpAnswer, text: string | null): HttpAnswer {
    if (text === null) return answer;
    const body = Buffer.from(text);
    return { ...answer, body, headers: { ...answer.headers, 'content-length': String(body.length) } };
  }
}

/** Null for what is no object in JSON: a fault has changed the answer before. */
function readable(text: string): Shown | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Shown) : null;
  } catch {
    return null;
  }
}
