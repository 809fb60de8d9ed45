import {
  DaySums,
  tillsPerDay,
  Totals,
  type Break,
  type ComparedSlice,
  type Foreign,
  type Place,
} from '@tillflow/domain';
import type { CompareCall } from '@tillflow/workflows';

/** A call ends after this many breaks and foreign charges, so that its result and its heartbeats stay small. */
const FINDINGS_PER_CALL = 500;

/** The data from which another worker continues the call. Temporal stores it with each heartbeat. */
type Snapshot = ComparedSlice & { readonly charges: number };

/** The result of one call so far. */
export class Progress {
  readonly #totals = new Totals();
  readonly #days: DaySums;
  #breaks: readonly Break[] = [];
  #foreign: readonly Foreign[] = [];
  #next: Place | null;
  #charges = 0;

  private constructor(private readonly call: CompareCall) {
    this.#next = call.place;
    this.#days = new DaySums(tillsPerDay(call.window));
  }

  /**
   * @param heartbeat the snapshot of an earlier try of the same call. The call starts again when the form is another
   * one.
   */
  static of(call: CompareCall, heartbeat: unknown): Progress {
    const progress = new Progress(call);
    if (!isSnapshot(heartbeat)) return progress;
    progress.#totals.addAll(heartbeat.totals);
    progress.#days.addAll(heartbeat.days);
    progress.#breaks = heartbeat.breaks;
    progress.#foreign = heartbeat.foreign;
    progress.#next = heartbeat.next;
    progress.#charges = heartbeat.charges;
    return progress;
  }

  /** Where to continue; the end of the window when everything is compared. */
  get place(): Place {
    const { window } = this.call;
    return this.#next ?? { at: window.to, listFrom: window.to };
  }

  get isEnough(): boolean {
    const found = this.#breaks.length + this.#foreign.length;
    return this.#charges >= this.call.chargesPerCall || found >= FINDINGS_PER_CALL;
  }

  add({ totals, days, breaks, foreign, next }: ComparedSlice): void {
    const { room } = this.call;
    this.#totals.addAll(totals);
    this.#days.addAll(days);
    this.#breaks = [...this.#breaks, ...breaks].slice(0, Math.max(room.breaks, 0));
    this.#foreign = [...this.#foreign, ...foreign].slice(0, Math.max(room.foreign, 0));
    this.#charges += totals.reduce((sum, one) => sum + one.charges + one.foreign, 0);
    this.#next = next;
  }

  result(): ComparedSlice {
    return {
      totals: this.#totals.list(),
      days: this.#days.list(),
      breaks: this.#breaks,
      foreign: this.#foreign,
      next: this.#next,
    };
  }

  snapshot(): Snapshot {
    return { ...this.result(), charges: this.#charges };
  }
}

function isSnapshot(details: unknown): details is Snapshot {
  if (!isObject(details)) return false;
  const { totals, days, breaks, foreign, next, charges } = details;
  const areLists = [totals, days, breaks, foreign].every((list) => Array.isArray(list));
  return areLists && typeof charges === 'number' && (next === null || isPlace(next));
}

function isPlace(value: unknown): boolean {
  return isObject(value) && Number.isSafeInteger(value['at']) && Number.isSafeInteger(value['listFrom']);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
