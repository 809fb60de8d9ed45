/**
 * Replaces the clocks, timers and random numbers of this process. Import it before every other module, because some
 * libraries keep the functions that they find when they load.
 */
import './async-context.js';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers';
import timersPromises from 'node:timers/promises';
import { immediates, real, type VirtualTime } from './time.js';

let world: VirtualTime | null = null;

/** From now on, this process lives in that world. Before the first one, it lives in reality. */
export function enter(time: VirtualTime): void {
  world = time;
}

class VirtualTimeout {
  #cancel: () => void = () => undefined;
  #cancelled = false;

  constructor(
    private readonly time: VirtualTime,
    private readonly milliseconds: number,
    private readonly callback: () => void,
    private readonly repeats: boolean,
  ) {
    this.#begin();
  }

  #begin(): void {
    this.#cancel = this.time.after(this.milliseconds, () => {
      if (this.#cancelled) return;
      this.callback();
      if (this.repeats && !this.#cancelled) this.#begin();
    });
  }

  cancel(): void {
    this.#cancelled = true;
    this.#cancel();
  }

  refresh(): this {
    this.#cancel();
    this.#begin();
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }

  close(): this {
    this.cancel();
    return this;
  }

  [Symbol.dispose](): void {
    this.cancel();
  }
}

type Callback = (...args: unknown[]) => void;
const originals = { clearTimeout: globalThis.clearTimeout, clearImmediate: globalThis.clearImmediate };
const shortest = (ms: unknown): number => (typeof ms === 'number' && ms >= 1 && ms < 2 ** 31 ? ms : 1);

function setVirtual(repeats: boolean, fallback: typeof setTimeout | typeof setInterval) {
  return (callback: Callback, ms?: number, ...args: unknown[]): unknown =>
    world === null
      ? fallback(callback, ms, ...args)
      : new VirtualTimeout(world, shortest(ms), () => callback(...args), repeats);
}

function clear(timer: unknown): void {
  if (timer instanceof VirtualTimeout) timer.cancel();
  else originals.clearTimeout(timer as NodeJS.Timeout);
}

function counted(callback: Callback, ...args: unknown[]): NodeJS.Immediate {
  const immediate = real.setImmediate(() => {
    immediates.delete(immediate);
    callback(...args);
  });
  immediates.add(immediate);
  return immediate;
}

function clearCounted(immediate: NodeJS.Immediate | undefined): void {
  if (immediate === undefined) return;
  // One that has run, too: that is legal, and does nothing.
  immediates.delete(immediate);
  originals.clearImmediate(immediate);
}

type Options = { readonly signal?: AbortSignal; readonly ref?: boolean };
const realSleep = timersPromises.setTimeout;

function sleep(ms?: number, value?: unknown, options: Options = {}): Promise<unknown> {
  if (world === null) return realSleep(ms, value, options);
  const time = world;
  const { signal } = options;
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      cancel();
      reject(new DOMException('The operation was aborted', 'AbortError'));
    };
    const cancel = time.after(shortest(ms), () => {
      signal?.removeEventListener('abort', abort);
      resolve(value);
    });
    if (signal?.aborted === true) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  });
}

const virtualTimers = {
  setTimeout: setVirtual(false, globalThis.setTimeout),
  setInterval: setVirtual(true, globalThis.setInterval),
  setImmediate: counted,
  clearTimeout: clear,
  clearInterval: clear,
  clearImmediate: clearCounted,
};
Object.assign(globalThis, virtualTimers);
Object.assign(timers, virtualTimers);
Object.assign(timersPromises, { setTimeout: sleep });

const RealDate = Date;
const wall = (): number => (world === null ? real.now() : world.wall);
globalThis.Date = new Proxy(RealDate, {
  construct: (target, args: unknown[], newTarget) =>
    Reflect.construct(
      target,
      args.length === 0 ? [wall()] : args,
      newTarget === globalThis.Date ? target : newTarget,
    ) as object,
  apply: () => new RealDate(wall()).toString(),
  get: (target, name) => (name === 'now' ? wall : (Reflect.get(target, name) as unknown)),
});
const realPerformanceNow = performance.now.bind(performance);
Object.defineProperty(performance, 'now', { value: () => world?.now ?? realPerformanceNow() });

AbortSignal.timeout = (ms: number): AbortSignal => {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new DOMException('The operation timed out', 'TimeoutError')), ms);
  return controller.signal;
};

const realRandom = Math.random.bind(Math);
Math.random = () => world?.random.fraction() ?? realRandom();
const original = {
  randomBytes: crypto.randomBytes,
  randomUUID: crypto.randomUUID,
  randomFillSync: crypto.randomFillSync,
  randomInt: crypto.randomInt,
};
const uuid = (time: VirtualTime): string => {
  const hex = time.random.bytes(16).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
};
function fill<T extends NodeJS.ArrayBufferView>(view: T): T {
  if (world === null) return original.randomFillSync(view);
  // A library fills a supply that outlasts a world: when it does so must not matter to the other draws.
  const bytes = world.random.stream('supplies').bytes(view.byteLength);
  new Uint8Array(view.buffer, view.byteOffset, view.byteLength).set(bytes);
  return view;
}
Object.assign(crypto, {
  randomUUID: () => (world === null ? original.randomUUID() : uuid(world)),
  randomBytes: (size: number, done?: (error: Error | null, bytes: Buffer) => void) => {
    const bytes = world === null ? original.randomBytes(size) : world.random.bytes(size);
    if (done === undefined) return bytes;
    process.nextTick(done, null, bytes);
    return undefined;
  },
  randomFillSync: fill,
  randomInt: (a: number, b?: number) => {
    const [min, max] = b === undefined ? [0, a] : [a, b];
    return world === null ? original.randomInt(min, max) : world.random.integer(min, max - 1);
  },
});
globalThis.crypto.getRandomValues = ((view: NodeJS.ArrayBufferView) =>
  fill(view)) as typeof globalThis.crypto.getRandomValues;
globalThis.crypto.randomUUID = () => crypto.randomUUID();
syncBuiltinESMExports();
