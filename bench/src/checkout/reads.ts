import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from './api-client.js';
import { cpuBetween, type BenchStack, type UsageOfParts } from './stack.js';
import { chargeOf, newReference, openCheckout } from './till.js';

/** What reading costs. CPU is of API and server together. */
export type Reads = {
  readonly getMs: readonly number[];
  readonly cpuMsOfGet: number;
  readonly streams: Streams | null;
};

type Streams = {
  readonly count: number;
  /** From the request to the first event. */
  readonly firstEventMs: readonly number[];
  /** CPU that one stream adds in a minute in which nothing happens, in ms. */
  readonly cpuMsPerMinute: number;
  /** Memory of the API for one stream, in bytes. */
  readonly memoryBytes: number;
  /** From the mark of the charge to the event that shows it paid. */
  readonly paidMs: readonly number[];
};

/** GETs one after the other, then streams: each of a checkout of its own, idle, then paid. */
export async function measureReads(
  stack: BenchStack,
  api: ApiClient,
  { readSeconds, streams }: { readonly readSeconds: number; readonly streams: number },
): Promise<Reads> {
  const { id } = await openCheckout(api, newReference());
  const before = await stack.usage();
  const getMs: number[] = [];
  const end = performance.now() + readSeconds * 1_000;
  while (performance.now() < end) {
    const began = performance.now();
    const { status } = await api.get(`/v1/checkouts/${id}`);
    if (status !== 200) throw new Error(`GET answered ${status}`);
    getMs.push(performance.now() - began);
  }
  const cpuMsOfGet = (readingCpu(before, await stack.usage()) * 1_000) / getMs.length;
  await api.post(`/v1/checkouts/${id}/cancel`);
  return { getMs, cpuMsOfGet, streams: await measureStreams(stack, api, readSeconds, streams) };
}

/** Null when the API of this build has no stream. */
async function measureStreams(
  stack: BenchStack,
  api: ApiClient,
  seconds: number,
  count: number,
): Promise<Streams | null> {
  const checkouts = [];
  for (let i = 0; i < count; i += 1) checkouts.push(await openCheckout(api, newReference()));
  const unwatchedCpu = await idleCpu(stack, seconds);
  const before = await stack.usage();
  const watchers = checkouts.map(({ id }) => new Watcher(api, id));
  try {
    const firstEventMs = await Promise.all(watchers.map((watcher) => watcher.until('checkout')));
    const watchedCpu = await idleCpu(stack, seconds);
    const watched = await stack.usage();
    const paidMs: number[] = [];
    for (const [index, checkout] of checkouts.entries()) {
      const began = performance.now();
      const shown = watchers[index]?.until('"status":"paid"');
      await stack.sandbox.control('POST', `/charges/${chargeOf(checkout)}/mark`, { status: 'successful' });
      await shown;
      paidMs.push(performance.now() - began);
    }
    return {
      count,
      firstEventMs,
      cpuMsPerMinute: ((watchedCpu - unwatchedCpu) * 1_000 * 60) / seconds / count,
      memoryBytes: (watched.api.rssBytes - before.api.rssBytes) / count,
      paidMs,
    };
  } catch (error) {
    if (error instanceof NoStream) return null;
    throw error;
  } finally {
    for (const watcher of watchers) watcher.close();
    await Promise.all(checkouts.map(({ id }) => api.post(`/v1/checkouts/${id}/cancel`)));
  }
}

/** CPU of API and server while no one asks for anything, in s. */
async function idleCpu(stack: BenchStack, seconds: number): Promise<number> {
  const before = await stack.usage();
  await sleep(seconds * 1_000);
  return readingCpu(before, await stack.usage());
}

function readingCpu(from: UsageOfParts, to: UsageOfParts): number {
  const cpu = cpuBetween(from, to);
  return cpu.api + cpu.server;
}

class NoStream extends Error {}

const EVENT_WITHIN_MS = 30_000;

/** One stream of one checkout. */
class Watcher {
  readonly #abort = new AbortController();
  readonly #began = performance.now();
  readonly #waiting = new Set<{ text: string; resolve: () => void }>();
  readonly #ended: Promise<never>;
  #seen = '';

  constructor(api: ApiClient, id: string) {
    this.#ended = this.#read(api, id);
    this.#ended.catch(() => undefined);
  }

  /** Resolves when the stream has said this. @returns the time since it was asked for, in ms. */
  async until(text: string): Promise<number> {
    const said = new Promise<void>((resolve) => {
      if (this.#seen.includes(text)) resolve();
      else this.#waiting.add({ text, resolve });
    });
    const late = sleep(EVENT_WITHIN_MS, undefined, { ref: false }).then(() => {
      throw new Error(`The stream did not say ${text}`);
    });
    await Promise.race([said, late, this.#ended]);
    return performance.now() - this.#began;
  }

  close(): void {
    this.#abort.abort();
  }

  async #read(api: ApiClient, id: string): Promise<never> {
    const { status, text } = await api.stream(`/v1/checkouts/${id}/events`, this.#abort.signal);
    if (status === 404) throw new NoStream();
    if (status !== 200) throw new Error(`The stream answered ${status}`);
    for await (const piece of text) {
      this.#seen += piece.toString('utf8');
      for (const waiting of this.#waiting) if (this.#seen.includes(waiting.text)) waiting.resolve();
    }
    throw new Error('The stream ended');
  }
}
