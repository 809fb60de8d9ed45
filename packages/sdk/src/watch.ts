import { backoffMs, Bound, pause } from './bound.js';
import { isOpen, NotPaidError, TillflowError } from './errors.js';
import { eventsIn } from './event-stream.js';
import { parsed, type Http } from './http.js';
import { aborted, checkoutIn, type Failure, failureOf, WAIT_S, waitingPath } from './sender.js';
import type { Checkout } from './types.js';

/** A stream that brings nothing for so long at its begin is held back by a proxy. Milliseconds. */
const FIRST_BYTE_MS = 5_000;

/** The API sends something every 15 s (`STREAM_HEARTBEAT_MS`). Where it is set above this, reads replace quiet streams. Milliseconds. */
const SILENCE_MS = 25_000;

/** The pause after a read that answered at once without news. Milliseconds. */
const POLL_EVERY_MS = 2_000;

/** The longest pause before the next try, whatever `Retry-After` says. Milliseconds. */
const LONGEST_PAUSE_MS = 30_000;

/** After n useless streams, 2^n reads come before the next stream, at most 32: about ten minutes of waiting reads. */
const MOST_USELESS = 5;

/** How a stream ended: there is none any more, it broke after it brought something, or it brought nothing. */
type StreamEnd = 'closed' | 'broke' | 'useless';

type States = AsyncGenerator<Checkout, void, undefined>;

/** The states of a checkout, each newer than the one before. */
export function watch(http: Http, id: string, signal: AbortSignal | undefined): States {
  return new Watching(http, id, signal).states();
}

/** @throws {NotPaidError} when the checkout ended otherwise. */
export async function untilPaid(http: Http, id: string, signal: AbortSignal | undefined): Promise<Checkout> {
  let newest: Checkout | undefined;
  for await (const checkout of watch(http, id, signal)) {
    newest = checkout;
    if (checkout.status === 'paid' || checkout.status === 'partially_refunded') return checkout;
    if (!isOpen(checkout)) throw new NotPaidError(checkout);
  }
  const detail = `The API shows no further state of the checkout ${id}, which has not ended.`;
  throw new TillflowError({ code: 'watch_ended', detail, money: 'unknown', checkout: newest });
}

/** Alternates between the stream and reads that wait. A read shows what happened while the stream was broken. */
class Watching {
  #newest: Checkout | undefined;
  readonly #path: string;

  constructor(
    private readonly http: Http,
    private readonly id: string,
    private readonly signal: AbortSignal | undefined,
  ) {
    this.#path = `/v1/checkouts/${encodeURIComponent(id)}`;
  }

  async *states(): States {
    yield* this.#read();
    for (let useless = 0; ;) {
      const end = yield* this.#stream();
      if (end === 'closed' && (yield* this.#hasClosed())) return;
      useless = end === 'broke' ? 0 : Math.min(useless + 1, MOST_USELESS);
      for (let reads = 2 ** useless; reads > 0; reads -= 1) yield* this.#read();
    }
  }

  /** Reads the checkout: when it has changed, or after a while. Tries until that succeeds. */
  async *#read(): States {
    for (let failures = 0; ; failures += 1) {
      const beganAt = performance.now();
      // Every second try answers at once: a proxy may end requests that wait.
      const waitS = this.#newest === undefined || failures % 2 === 1 ? 0 : WAIT_S;
      const path = waitS === 0 ? this.#path : waitingPath(this.id, waitS, this.#version);
      const call = { method: 'GET', path } as const;
      const answer = await this.http.exchange(call, this.signal, waitS * 1_000 + this.http.timeoutMs);
      const checkout = checkoutIn(answer, this.id);
      if (checkout !== null && this.#isNews(checkout)) {
        yield checkout;
        return;
      }
      if (checkout !== null) await pause(POLL_EVERY_MS - (performance.now() - beganAt), this.signal);
      if (this.signal?.aborted === true) throw aborted(this.signal, 'unknown', { checkout: this.#newest });
      if (checkout !== null) return;
      const failure = failureOf(call, answer);
      this.#mustPass(failure);
      const pauseMs = Math.max(failure.retryAfterMs ?? 0, backoffMs(failures + 1));
      await pause(Math.min(pauseMs, LONGEST_PAUSE_MS), this.signal);
    }
  }

  /** A proxy may have answered 204. A checkout without a stream has no link to one either. */
  async *#hasClosed(): AsyncGenerator<Checkout, boolean, undefined> {
    const answer = await this.http.exchange({ method: 'GET', path: this.#path }, this.signal);
    const checkout = checkoutIn(answer, this.id);
    if (checkout !== null && this.#isNews(checkout)) yield checkout;
    return checkout?.events_url === null;
  }

  /** @throws {TillflowError} when the API refuses the watch. */
  #mustPass(failure: Failure): void {
    // Where the API has answered before, a refusal that is not the API's may be about the moment.
    if (failure.isRepeated || (failure.problem === undefined && this.#newest !== undefined)) return;
    // Also `not_found`: the API may have accepted the checkout and not have begun it yet.
    throw new TillflowError({ ...failure, money: 'unknown', checkout: this.#newest });
  }

  async *#stream(): AsyncGenerator<Checkout, StreamEnd, undefined> {
    const bound = new Bound(this.signal, FIRST_BYTE_MS);
    let end: StreamEnd = 'useless';
    let hasNews = false;
    try {
      const headers = { accept: 'text/event-stream', 'last-event-id': String(this.#version) };
      const { status, body } = await this.http.open(
        { method: 'GET', path: `${this.#path}/events`, headers },
        bound.signal,
      );
      if (status === 204) return 'closed';
      if (status !== 200 || body === null) return end;
      const reader = body.getReader();
      const decoder = new TextDecoder();
      for (let text = ''; ;) {
        const { done, value } = await reader.read();
        if (done) return end;
        end = 'broke';
        bound.rest();
        const { data, rest } = eventsIn(text + decoder.decode(value, { stream: true }), 'checkout');
        text = rest;
        const checkouts = data.flatMap((one) => checkoutIn({ status, json: parsed(one) }, this.id) ?? []);
        const newest = Math.max(...checkouts.map(({ version }) => version));
        const checkout = checkouts.find(({ version }) => version === newest);
        if (checkout !== undefined && this.#isNews(checkout)) {
          hasNews = true;
          yield checkout;
        }
        // What else this stream brings cannot be trusted.
        if (checkouts.length < data.length) return end;
        bound.listen(SILENCE_MS);
      }
    } catch {
      return bound.isSilent && !hasNews ? 'useless' : end;
    } finally {
      bound.end();
    }
  }

  /** The version that was shown last. */
  get #version(): number {
    return this.#newest?.version ?? -1;
  }

  #isNews(checkout: Checkout): boolean {
    if (checkout.version <= this.#version) return false;
    this.#newest = checkout;
    return true;
  }
}
