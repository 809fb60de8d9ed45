import './async-context.js';
import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import type { Random } from '../random.js';

/** A process of the simulation. Its timers and messages end with it, and wait while it is frozen. */
export class Machine {
  /** Milliseconds by which its wall clock is ahead. */
  skewMs = 0;
  isDead = false;
  /** In milliseconds of virtual time; 0: it is not frozen. */
  frozenUntil = 0;
  /** The stream of its random numbers. */
  stream: string;

  constructor(readonly name: string) {
    this.stream = name;
  }
}

type Timer = {
  at: number;
  order: number;
  readonly run: () => void;
  /** Where the timer was set: its code runs in the same asynchronous context. */
  readonly context: AsyncResource;
  readonly machine: Machine | undefined;
  isOver: boolean;
};

/** The time after which a world that still has work counts as endless. Turns of the loop, and microtasks between two. */
const MOST_IMMEDIATES = 100_000;

/** What runs now, and on which machine. */
export const running = new AsyncLocalStorage<Machine>();

/** Real functions, before they are replaced. */
export const real = {
  setImmediate: globalThis.setImmediate,
  setTimeout: globalThis.setTimeout,
  now: Date.now.bind(Date),
};

/** Immediates that code of the product has asked for, and that have not run yet. */
export const immediates = new Set<NodeJS.Immediate>();

/**
 * The time of one world. Nothing waits in reality: when no code can go on, the clock moves to the next timer. Timers of
 * the same instant run in the order in which they were set.
 */
export class VirtualTime {
  readonly #heap: Timer[] = [];
  #order = 0;
  #now: number;
  #failure: Error | null = null;

  readonly #random: Random;

  constructor(startAt: number, random: Random) {
    this.#now = startAt;
    this.#random = random;
  }

  /** The random numbers of the machine that asks. */
  get random(): Random {
    const machine = running.getStore();
    return machine === undefined ? this.#random : this.#random.stream(machine.stream);
  }

  /** The true time, in milliseconds since 1970. */
  get now(): number {
    return this.#now;
  }

  /** The wall clock of the machine that asks. */
  get wall(): number {
    return Math.floor(this.#now + (running.getStore()?.skewMs ?? 0));
  }

  /** @param machine absent: the one that asks @returns cancels it */
  after(milliseconds: number, run: () => void, machine = running.getStore()): () => void {
    const at = this.#now + Math.max(milliseconds, 0);
    const context = new AsyncResource('VirtualTimer', { requireManualDestroy: true });
    const timer: Timer = { at, order: this.#order++, run, context, machine, isOver: false };
    this.#push(timer);
    return () => {
      timer.isOver = true;
    };
  }

  /** A defect of the simulation itself: the run ends with it. */
  fail(error: unknown): void {
    this.#failure ??= error instanceof Error ? error : new Error(String(error));
  }

  /** Resolves after so many milliseconds, independently of every machine. */
  sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => this.after(milliseconds, resolve, undefined));
  }

  /** Nothing runs until this instant, as on a suspended host. What was due meanwhile runs then. */
  skipTo(instant: number): void {
    this.#now = Math.max(this.#now, instant);
  }

  /** Runs until `isDone`. @throws when nothing is left to run, or virtual time passes `until` */
  async run(isDone: () => boolean, until: number): Promise<void> {
    await settle();
    while (!isDone()) {
      if (this.#failure !== null) throw this.#failure;
      const timer = this.#pop();
      if (timer === undefined) throw new Error('Nothing is left to run, and the run is not done');
      if (timer.isOver || timer.machine?.isDead === true) continue;
      const thaw = timer.machine?.frozenUntil ?? 0;
      if (thaw > timer.at) {
        timer.at = thaw;
        timer.order = this.#order++;
        this.#push(timer);
        continue;
      }
      if (timer.at > until) throw new Error('The run is not done in time');
      if (timer.at > this.#now) this.#now = timer.at;
      timer.isOver = true;
      timer.context.runInAsyncScope(timer.run);
      await settle();
    }
  }

  #push(timer: Timer): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(timer);
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || !isBefore(timer, parent)) break;
      heap[index] = parent;
      index = above;
    }
    heap[index] = timer;
  }

  #pop(): Timer | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let index = 0;
    for (;;) {
      let below = 2 * index + 1;
      const left = heap[below];
      if (left === undefined) break;
      const right = heap[below + 1];
      if (right !== undefined && isBefore(right, left)) below += 1;
      const child = heap[below] as Timer;
      if (!isBefore(child, last)) break;
      heap[index] = child;
      index = below;
    }
    heap[index] = last;
    return first;
  }
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

/** Resolves when no code can go on without a timer. */
async function settle(): Promise<void> {
  for (let turns = 0; turns === 0 || immediates.size > 0; turns += 1) {
    if (turns > MOST_IMMEDIATES) throw new Error('The product asks for immediates without an end');
    await new Promise<void>((resolve) => void real.setImmediate(resolve));
  }
}
