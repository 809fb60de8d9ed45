import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, Connection } from '@temporalio/client';
import { hadNoEffect, isTooSlow, within, type Bounded, type Lane, type Temporal } from '@tillflow/temporal';
import { Gate } from './gate.js';
import { currentBudget } from './request-budget.js';

/** How many calls of each lane may be under way at a time. */
export type Places = Readonly<Record<Lane, number>>;

/** What a call gets whose request has used up its time: enough for an engine that is well. Milliseconds. */
const LEAST_MS = 250;

/** How long a write may keep its place after its time, and how often it is looked at. Milliseconds. */
const LONGEST_KEEP_MS = 15_000;
const KEEP_STEP_MS = 1_000;

/** The connection to Temporal, injectable by this class. */
export class TemporalAccess {
  readonly #temporal: Temporal;
  readonly #gates: Readonly<Record<Lane, Gate>>;

  constructor(temporal: Temporal, places: Places) {
    this.#temporal = temporal;
    this.#gates = {
      write: new Gate(places.write),
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

  /**
   * Bounds a call by its own time, by the time that its request has left, and by the places of its lane. What runs in
   * the background belongs to no request, also when a request started it.
   * @throws {TooSlowError} when the time is over: `hadNoEffect` says whether it may still happen.
   * @throws {OverloadedError} {CallerGoneError} when it was not sent.
   */
  readonly within: Bounded = (lane, milliseconds, work) => this.#within(lane, milliseconds, work);

  /**
   * As {@link within}, for a write that goes on after its time is over: it keeps its place until `isThrough`, asked
   * once a second, or for 15 s. Otherwise an engine that is slow would be given ever more to do.
   */
  whileItGoesOn<T>(milliseconds: number, work: () => Promise<T>, isThrough: () => Promise<boolean>): Promise<T> {
    return this.#within('write', milliseconds, work, async (error) => {
      const until = performance.now() + LONGEST_KEEP_MS;
      while (isTooSlow(error) && !hadNoEffect(error) && performance.now() < until) {
        await sleep(KEEP_STEP_MS, undefined, { ref: false });
        if (await isThrough()) return;
      }
    });
  }

  async #within<T>(
    lane: Lane,
    milliseconds: number,
    work: () => Promise<T>,
    keep?: (error: unknown) => Promise<void>,
  ): Promise<T> {
    const isAwaited = lane !== 'background';
    const startedAt = performance.now();
    const budget = isAwaited ? currentBudget() : undefined;
    const leftMs = budget === undefined ? milliseconds : Math.max(budget.askBy - startedAt, LEAST_MS);
    const withinMs = Math.min(milliseconds, leftMs);
    // A webhook is worth its hint, also when its sender did not wait: others may go along with it.
    const gone = lane === 'hint' ? undefined : budget?.gone;
    return this.#gates[lane].pass(
      { withinMs, gone },
      () => within(this.connection, Math.max(withinMs - (performance.now() - startedAt), 1), work),
      keep,
    );
  }

  /** As {@link within}, for what no caller waits for. */
  readonly inBackground: Bounded = (_lane, milliseconds, work) => this.within('background', milliseconds, work);

  /** The calls of a lane: under way, waiting for a place, and refused since the process started. */
  load(lane: Lane): Pick<Gate, 'busy' | 'waiting' | 'refused'> {
    return this.#gates[lane];
  }
}
