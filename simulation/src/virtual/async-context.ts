/**
 * Makes asynchronous context cheap on Node before version 24: there, each store of the process is copied to each
 * promise, and workflow code makes stores for each run. Here, all of them share one, as they do in later versions.
 */
import asyncHooks from 'node:async_hooks';
import { syncBuiltinESMExports } from 'node:module';

const FRAMES_SINCE = 24;
type Frame = ReadonlyMap<object, unknown>;
const Original = asyncHooks.AsyncLocalStorage;
const frame = new Original<Frame>();

class FramedStorage<T> {
  #isDisabled = false;

  static bind<F extends (...args: never[]) => unknown>(work: F): F {
    return Original.bind(work);
  }

  static snapshot(): ReturnType<typeof Original.snapshot> {
    return Original.snapshot();
  }

  #with(store: T | undefined): Frame {
    return new Map(frame.getStore()).set(this, store);
  }

  getStore(): T | undefined {
    return this.#isDisabled ? undefined : (frame.getStore()?.get(this) as T | undefined);
  }

  run<R, A extends unknown[]>(store: T, work: (...args: A) => R, ...args: A): R {
    this.#isDisabled = false;
    return frame.run(this.#with(store), work, ...args);
  }

  exit<R, A extends unknown[]>(work: (...args: A) => R, ...args: A): R {
    return frame.run(this.#with(undefined), work, ...args);
  }

  enterWith(store: T): void {
    this.#isDisabled = false;
    frame.enterWith(this.#with(store));
  }

  disable(): void {
    this.#isDisabled = true;
  }
}

if (Number.parseInt(process.versions.node, 10) < FRAMES_SINCE) {
  Object.assign(asyncHooks, { AsyncLocalStorage: FramedStorage });
  syncBuiltinESMExports();
}
