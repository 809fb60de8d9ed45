import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, Connection } from '@temporalio/client';
import { hadNoEffect, isTooSlow, within, type Bounded, type CallKind, type Temporal } from '@tillflow/temporal';
import { Gate, type Keep, type Leave } from './gate.js';
import { currentBudget } from './request-budget.js';

/** The limit of calls in progress of each kind. */
export type Places = Readonly<Record<CallKind, number>>;

/** The least time of a call whose request has no time left: enough for a healthy Temporal. Milliseconds. */
const LEAST_MS = 250;

/** How long a write may keep its place after its deadline, and how often it is checked. Milliseconds. */
const LONGEST_KEEP_MS = 15_000;
const KEEP_STEP_MS = 1_000;

/** The connection to Temporal, injectable by this class. */
export class TemporalAccess {
  readonly #temporal: Temporal;
  readonly #gates: Readonly<Record<CallKind, Gate>>;

  constructor(temporal: Temporal, places: Places) {
    this.#temporal = temporal;
    this.#gates = {
      write: new Gate(places.write),
      change: new Gate(places.change),
      read: new Gate(places.read),
      list: new Gate(places.list),
      hint: new Gate(places.hint),
      background: new Gate(places.background),
    };
  }

  get client(): Client {
    return this.#temporal.client;
  }

  get connection(): Connection {
    return this.#temporal.connection;
  }

  get trace(): Temporal['trace'] {
    return this.#temporal.trace;
  }

  /**
   * Limits a call by its own time, by the time left to its request, and by the places of its kind. Background calls
   * belong to no request, also when a request started them.
   * @throws {TooSlowError} when the time is over: `hadNoEffect` says whether the call may still have an effect.
   * @throws {OverloadedError} {CallerGoneError} when the call was not sent.
   */
  readonly within: Bounded = (kind, milliseconds, work) => this.#within(kind, milliseconds, work);

  /**
   * As {@link within}, for the start of a checkout. `work` calls `leave` to free its place early. After the deadline,
   * the place stays taken until `elsewhereMs`, which is asked once a second, returns a number, at most for 15 s. So a slow
   * Temporal gets no more work than it can finish.
   * @param about see {@link Patience.about} @param elsewhereMs null while Temporal works on it; then what {@link Leave} takes
   */
  whileItGoesOn<T>(
    about: string,
    milliseconds: number,
    work: (leave: Leave) => Promise<T>,
    elsewhereMs: () => Promise<number | null>,
  ): Promise<T> {
    const keep = async (error: unknown, leave: Leave): Promise<void> => {
      const until = performance.now() + LONGEST_KEEP_MS;
      while (isTooSlow(error) && !hadNoEffect(error) && performance.now() < until) {
        await sleep(KEEP_STEP_MS, undefined, { ref: false });
        const ms = await elsewhereMs();
        if (ms !== null) return leave(ms);
      }
    };
    return this.#within('write', milliseconds, work, { about, keep });
  }

  async #within<T>(
    kind: CallKind,
    milliseconds: number,
    work: (leave: Leave) => Promise<T>,
    { about, keep, caller }: { readonly about?: string; readonly keep?: Keep; readonly caller?: string } = {},
  ): Promise<T> {
    const isAwaited = kind !== 'background';
    const startedAt = performance.now();
    const budget = isAwaited ? currentBudget() : undefined;
    const leftMs = budget === undefined ? milliseconds : Math.max(budget.askBy - startedAt, LEAST_MS);
    const withinMs = Math.min(milliseconds, leftMs);
    // The API sends a hint even after its sender has disconnected, because a merged hint may also stand for other
    // webhooks.
    const gone = kind === 'hint' ? undefined : budget?.gone;
    return this.#gates[kind].pass(
      { withinMs, gone, caller: caller ?? budget?.caller, about },
      (leave) => within(this.connection, Math.max(withinMs - (performance.now() - startedAt), 1), () => work(leave)),
      keep,
    );
  }

  /** As {@link within}, for calls that no request waits for. */
  readonly inBackground: Bounded = (_kind, milliseconds, work) => this.within('background', milliseconds, work);

  /**
   * As {@link inBackground}, for reads that will probably show no change. They wait in a line of their own, so that
   * thousands of quiet streams do not delay the read that shows a QR code.
   */
  readonly whileQuiet: Bounded = (_kind, milliseconds, work) =>
    this.#within('background', milliseconds, work, { caller: 'quiet' });

  /** Calls of a kind: in progress, waiting, and refused since the process started. */
  load(kind: CallKind): Pick<Gate, 'busy' | 'waiting' | 'refused'> {
    return this.#gates[kind];
  }
}
