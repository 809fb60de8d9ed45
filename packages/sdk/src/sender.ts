import { backoffMs, isDuration, moment, pause, since } from './bound.js';
import { invalidArgument, moneyIn, TillflowError, type ErrorDetails, type Money, type RepeatWith } from './errors.js';
import { problemIn, retryAfterMs, type Answer, type Http, type Request } from './http.js';
import { isConclusive, isForNow, mayHaveHappened } from './meaning.js';
import type { CallOptions, Checkout, Problem, Refund } from './types.js';

/** A request, and what its answers mean. */
export type Call<T> = Request & {
  /** What a repeated request has in common with the first. */
  readonly repeatWith?: RepeatWith;
  /** @returns null when this is not a complete answer to the request. */
  read(answer: Answer): Reading<T> | null;
  /** The result, when a later state of the checkout shows it. */
  resultIn?(checkout: Checkout): T | null;
};

/** What an answer of 2xx means: the result of the call, or that the outcome is not known yet. */
export type Reading<T> = { readonly result: T } | { readonly pending: Pending };

type Pending = {
  /** The checkout that changes when the outcome is known, and its version if known. */
  readonly id: string;
  readonly version: number | null;
  readonly checkout?: Checkout;
  readonly refund?: Refund;
};

/** Why a request did not end the call. */
export type Failure = Omit<ErrorDetails, 'money' | 'checkout' | 'refund'> & {
  /** The same request may get another answer. */
  readonly isRepeated: boolean;
  /** The request may have had an effect. */
  readonly isUnclear: boolean;
};

/** Below the usual limits of proxies for one request. Seconds. */
export const WAIT_S = 20;

/** The path of a read that answers when the checkout has changed after this version, or after so many seconds. */
export function waitingPath(id: string, seconds: number, version: number | null): string {
  const after = version === null ? '' : `&after_version=${version}`;
  return `/v1/checkouts/${encodeURIComponent(id)}?wait=${seconds}${after}`;
}

function isSuccess({ status }: Pick<Answer, 'status'>): boolean {
  return status >= 200 && status <= 299;
}

/** The checkout, when the answer is one, and has this id if one is given. */
export function checkoutIn(answer: Pick<Answer, 'status' | 'json'>, id?: string): Checkout | null {
  const checkout = answer.json as Partial<Checkout> | null | undefined;
  const isOne = typeof checkout?.id === 'string' && typeof checkout.version === 'number';
  return isSuccess(answer) && isOne && (id ?? checkout.id) === checkout.id ? (checkout as Checkout) : null;
}

/** Repeats requests until their outcome is known. */
export class Sender {
  constructor(readonly http: Http) {}

  /**
   * Sends the request again after a lost answer, a 202, a 408, a 429 and most answers of 5xx, until the outcome is known
   * or `patienceMs` have passed.
   * @throws {TillflowError}
   */
  async send<T>(call: Call<T>, { signal, patienceMs = this.http.patienceMs }: CallOptions = {}): Promise<T> {
    if (!isDuration(patienceMs)) throw invalidArgument('patienceMs must be a number of milliseconds, from 0.');
    const began = moment();
    const leftMs = (): number => patienceMs - since(began);
    const seen: Seen = {};
    let money: Money = 'not_moved';
    for (let tries = 1; ; tries += 1) {
      if (isAborted(signal)) throw aborted(signal, money, { ...call, ...seen });
      const answer = await this.http.exchange(call, signal);
      const reading = isSuccess(answer) ? call.read(answer) : null;
      if (reading !== null && 'result' in reading) return reading.result;
      if (reading !== null) note(seen, reading.pending);
      const failure = reading === null ? failureOf(call, answer) : undecided(call, answer);
      const remainingMs = Math.max(0, leftMs());
      if (failure.code === 'already_paid' && call.method === 'POST') {
        throw await this.#alreadyPaid(call, failure, seen, { signal, patienceMs: remainingMs });
      }
      money = moneyAfter(call, failure, money);
      const error = (): TillflowError => new TillflowError({ ...failure, ...seen, money, repeatWith: call.repeatWith });
      const pauseMs = Math.max(failure.retryAfterMs ?? 0, backoffMs(tries));
      if (!failure.isRepeated || (pauseMs > remainingMs && !isAborted(signal))) throw error();
      if (reading === null) await pause(pauseMs, signal);
      else {
        const found = await this.#later(call, reading.pending, {
          seen,
          remainingMs,
          atLeastMs: backoffMs(tries),
          signal,
        });
        if (found !== null) return found;
      }
      if (leftMs() < 0 && !isAborted(signal)) throw error();
    }
  }

  /** The checkout says whether the payment still counts: one that came too late was returned, or is being returned. */
  async #alreadyPaid(
    { path: posted, repeatWith }: Pick<Call<unknown>, 'path' | 'repeatWith'>,
    failure: Failure,
    seen: Seen,
    options: CallOptions,
  ): Promise<TillflowError> {
    const path = posted.replace(/\/(cancel|attempts)$/, '');
    const read = (answer: Answer): Reading<Checkout> | null => {
      const checkout = checkoutIn(answer);
      return checkout === null ? null : { result: checkout };
    };
    const checkout = await this.send({ method: 'GET', path, read }, options).catch(() => null);
    if (checkout !== null) note(seen, { checkout });
    const money = checkout === null ? 'unknown' : moneyIn(checkout);
    return new TillflowError({ ...failure, ...seen, money, repeatWith });
  }

  /** Waits until the checkout has changed. @returns the result, when the changed checkout shows it. */
  async #later<T>(
    call: Call<T>,
    { id, version }: Pending,
    limits: {
      readonly seen: Seen;
      readonly remainingMs: number;
      readonly atLeastMs: number;
      readonly signal: AbortSignal | undefined;
    },
  ): Promise<T | null> {
    const { seen, remainingMs, atLeastMs, signal } = limits;
    const began = moment();
    const seconds = Math.min(WAIT_S, Math.floor(remainingMs / 1_000));
    let pauseMs = atLeastMs;
    if (seconds >= 1) {
      const request = { method: 'GET', path: waitingPath(id, seconds, version) } as const;
      const answer = await this.http.exchange(request, signal, seconds * 1_000 + this.http.timeoutMs);
      const checkout = checkoutIn(answer, id);
      if (checkout !== null) {
        note(seen, { checkout });
        const found = call.resultIn?.(checkout) ?? null;
        if (found !== null) return found;
      } else pauseMs = Math.min(Math.max(retryAfterMs(answer) ?? 0, pauseMs), remainingMs);
    }
    // A read that answers at once must not become a loop without a pause.
    await pause(pauseMs - since(began), signal);
    return null;
  }
}

/** The newest states that a call has seen. */
type Seen = { checkout?: Checkout; refund?: Refund };

function note(seen: Seen, { checkout, refund }: Seen): void {
  if (checkout !== undefined && checkout.version >= (seen.checkout?.version ?? -1)) seen.checkout = checkout;
  if (refund !== undefined) seen.refund = refund;
}

function isAborted(signal: AbortSignal | undefined): signal is AbortSignal {
  return signal?.aborted === true;
}

/** The caller's signal aborted the call. */
export function aborted(
  signal: AbortSignal,
  money: Money,
  more: Partial<Pick<ErrorDetails, 'repeatWith' | 'checkout' | 'refund'>>,
): TillflowError {
  const detail = 'The signal of the call aborted it.';
  const { repeatWith, checkout, refund } = more;
  return new TillflowError({ code: 'aborted', detail, money, repeatWith, checkout, refund, cause: signal.reason });
}

function moneyAfter({ method }: Request, { code, isUnclear }: Failure, before: Money): Money {
  if (method === 'GET') return 'not_moved';
  // What an earlier request of the call has left open stays open.
  return isUnclear || (before === 'unknown' && !isConclusive(code)) ? 'unknown' : 'not_moved';
}

/** The API has answered 202, or with a state in which the outcome is not known yet. */
function undecided(call: Request, answer: Answer): Failure {
  const { status } = answer;
  const detail = `${nameOf(call)} has no outcome yet.`;
  const retryAfter = { retryAfterMs: retryAfterMs(answer) };
  return { code: 'outcome_pending', detail, status, isRepeated: true, isUnclear: true, ...retryAfter };
}

/** What an answer other than the call's own means. */
export function failureOf(call: Request, answer: Answer): Failure {
  const { status, cause } = answer;
  const problem = problemIn(answer);
  if (problem !== null) {
    const { code } = problem;
    const facts = { code, detail: textOf(problem), status, problem, retryAfterMs: retryAfterMs(answer) };
    return { ...facts, isRepeated: isForNow(status, code), isUnclear: mayHaveHappened(status, code) };
  }
  if (isForeign(answer)) {
    const detail = `${nameOf(call)} was answered with ${status} by something else than Tillflow. Check baseUrl.`;
    return { code: 'unexpected_answer', detail, status, isRepeated: false, isUnclear: status < 400 };
  }
  const detail = `${nameOf(call)} got no complete answer${status === 0 ? '' : ` (status ${status})`}.`;
  const wait = { retryAfterMs: retryAfterMs(answer) };
  return { code: 'no_answer', detail, status: status || undefined, isRepeated: true, isUnclear: true, cause, ...wait };
}

/** The mistakes that the API names, or its detail. */
function textOf({ detail, errors = [] }: Problem): string {
  const text = errors.map(({ path, message }) => `${path}: ${message}`).join('; ') || detail;
  return text.endsWith('.') ? text : `${text}.`;
}

/** A lasting redirect, or a refusal that the API cannot have written. */
function isForeign({ status, headers }: Answer): boolean {
  if (status === 301 || status === 308) return true;
  const isCut = headers.get('content-type')?.includes('problem+json') === true;
  return status >= 400 && status <= 499 && !isCut && !isForNow(status, '');
}

function nameOf({ method, path }: Request): string {
  return `${method} ${path.split('?')[0] ?? path}`;
}
