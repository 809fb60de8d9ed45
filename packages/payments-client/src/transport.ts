import { inspect } from 'node:util';
import type { Dispatcher } from 'undici';
import type { z } from 'zod';
import { isWatched, publish } from './diagnostics.js';
import {
  AuthenticationError,
  ConnectionError,
  InvalidRequestError,
  PaymentsError,
  RateLimitError,
  ServerError,
  UnexpectedResponseError,
} from './errors.js';
import { type Ending, exchange, header, type Lateness, type Outlet } from './exchange.js';
import type { UnreadBody } from './form.js';
import { type Intent, otherSubject } from './integrity.js';
import { MAX_TIMER_MS } from './clock.js';
import { areLimits, type KeyKind, limitMistakes, type Logger, type RequestOptions, type Settings } from './options.js';
import { snapshot } from './params.js';
import type { Path } from './path.js';
import { type ConnectionPool, openPool } from './pool.js';
import { Redactor } from './redaction.js';
import { encodeRequest, type Identity, identityOf, withBody } from './request.js';
import { retryDelay } from './retry.js';
import { abortedWaiting, judge, type Method, type Question, timeUp } from './verdict.js';

/** A host that does not complete a handshake within this is not worth the rest of a long `timeoutMs`. */
const MAX_CONNECT_MS = 10_000;

const LAST_OF_SECOND_MS = 999;

/** One call, however many requests it takes. */
interface Call<T> {
  readonly question: Question<T>;
  readonly request: Dispatcher.DispatchOptions;
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number;
  readonly maxRetries: number;
  /** In monotonic milliseconds. */
  readonly deadline: number;
  /** In epoch milliseconds. */
  readonly sendBy: number;
}

interface Progress {
  attempts: number;
  status: number | undefined;
  /** The provider's name for the last request that it answered. */
  requestId?: string | undefined;
  /** The `Date` of the last reply. */
  date?: string | undefined;
}

/**
 * Sends requests, tries again where that is safe, and answers with a checked reply or a {@link PaymentsError}.
 * Tried again are GET, PATCH and DELETE on not sent, 429, 5xx, a broken connection and a timeout; POST only on
 * not sent and 429, because nothing makes a repeated POST harmless (assumption: no idempotency key is honoured).
 */
export class Transport {
  readonly #settings: Settings;
  readonly #pool: ConnectionPool | undefined;
  readonly #outlet: Outlet;
  readonly #redactor: Redactor;
  readonly #secret: Identity;
  readonly #public: Identity | undefined;
  /** The `Date` of the last reply, and when it came by our clock. */
  #date = '';
  #datedAt = 0;
  /** Calls not yet answered. */
  #open = 0;
  #onIdle: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  constructor(settings: Settings) {
    const { secretKey, publicKey, dispatcher } = settings;
    this.#settings = settings;
    this.#redactor = new Redactor(publicKey === undefined ? [secretKey] : [secretKey, publicKey]);
    this.#secret = identityOf(settings, secretKey);
    this.#public = publicKey === undefined ? undefined : identityOf(settings, publicKey);
    if (dispatcher === undefined) {
      this.#pool = openPool(settings.origin, Math.min(settings.timeoutMs, MAX_CONNECT_MS));
      this.#outlet = { dispatcher: this.#pool.dispatcher, announcesSending: true };
    } else {
      this.#outlet = { dispatcher, announcesSending: false };
    }
  }

  /** @param params become the query string */
  get<T>(path: Path, params: object | undefined, schema: z.ZodType<T>, options?: RequestOptions): Promise<T> {
    return this.#call('GET', path, params, schema, options);
  }

  /** @param intent what the reply must not contradict; if it does, the call fails with an {@link IntegrityError} */
  post<T, P extends object>(
    path: Path,
    params: P | undefined,
    schema: z.ZodType<T>,
    options?: RequestOptions,
    intent?: Intent<P, T>,
  ): Promise<T> {
    return this.#call('POST', path, params, schema, options, intent);
  }

  /** A POST of a body that is read first. @param intent as for {@link post} */
  upload<T>(
    path: Path,
    body: UnreadBody,
    schema: z.ZodType<T>,
    options: RequestOptions | undefined,
    intent: Intent<object, T>,
  ): Promise<T> {
    return this.#call('POST', path, {}, schema, options, intent, body);
  }

  /** @param intent as for {@link post} */
  patch<T, P extends object>(
    path: Path,
    params: P | undefined,
    schema: z.ZodType<T>,
    options?: RequestOptions,
    intent?: Intent<P, T>,
  ): Promise<T> {
    return this.#call('PATCH', path, params, schema, options, intent);
  }

  delete<T>(path: Path, schema: z.ZodType<T>, options?: RequestOptions): Promise<T> {
    return this.#call('DELETE', path, undefined, schema, options);
  }

  /** Wall clock of this client, in epoch milliseconds. */
  now(): number {
    return this.#settings.clock.now();
  }

  /** By how many milliseconds the provider's clock is ahead of ours, as its last reply was dated; 0 when it is not. */
  ahead(): number {
    const ahead = Date.parse(this.#date) - this.#datedAt;
    // A date is of whole seconds: the end of its second counts.
    return ahead > 0 ? ahead + LAST_OF_SECOND_MS : 0;
  }

  /** Refuses new calls, lets those under way finish, and closes the sockets. A `dispatcher` of the caller's stays open. */
  close(): Promise<void> {
    this.#closing ??= this.#idle().then(() => this.#pool?.close());
    return this.#closing;
  }

  #idle(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#open === 0) resolve();
      else this.#onIdle = resolve;
    });
  }

  toJSON(): object {
    return { baseUrl: this.#settings.origin + this.#settings.basePath };
  }

  [inspect.custom](): string {
    return `Transport ${inspect(this.toJSON())}`;
  }

  async #call<T, P extends object>(
    method: Method,
    path: Path,
    params: P | undefined,
    schema: z.ZodType<T>,
    options: RequestOptions = {},
    intent?: Intent<P, T>,
    body?: UnreadBody,
  ): Promise<T> {
    const startedAt = this.#settings.clock.monotonic();
    const progress: Progress = { attempts: 0, status: undefined };
    let failure: PaymentsError | undefined;
    this.#open += 1;
    try {
      const identity = this.#identityFor(options.useKey);
      // Everything that is sent and compared is settled here, before the first await.
      const asked = params === undefined ? undefined : snapshot(params);
      const terms = { livemode: identity.livemode, searchedMetadata: this.#settings.searchedMetadata };
      const contradictions = (reply: T): readonly string[] => [
        ...otherSubject(path.subject, reply),
        ...(intent === undefined || asked === undefined ? [] : intent(asked, reply, terms)),
      ];
      const question = { method, route: path.route, schema, contradictions };
      const call = this.#prepare(question, identity, path, asked, options, startedAt);
      return await this.#run(body === undefined ? call : await this.#withBody(call, body), progress);
    } catch (error) {
      failure = error instanceof PaymentsError ? error : this.#unforeseen(error, progress);
      throw failure;
    } finally {
      this.#report(method, path.route, progress, startedAt, failure);
      this.#open -= 1;
      if (this.#open === 0) this.#onIdle?.();
    }
  }

  /** Parameters of a wrong type can make the code throw anywhere; the caller still learns whether something was sent. */
  #unforeseen(error: unknown, { attempts, status }: Progress): PaymentsError {
    const cause = this.#redactor.cause(error);
    if (attempts === 0) return notSent('invalid_parameter', 'A parameter cannot be sent', cause);
    return new UnexpectedResponseError('The reply could not be compared with the request. Look before repeating it.', {
      code: 'unexpected_response',
      outcome: 'unknown',
      retryable: false,
      status,
      cause,
    });
  }

  #prepare<T>(
    question: Question<T>,
    identity: Identity,
    path: Path,
    params: object | undefined,
    options: RequestOptions,
    startedAt: number,
  ): Call<T> {
    const settings = this.#settings;
    if (this.#closing) throw closed();
    const timeoutMs = options.timeoutMs ?? settings.timeoutMs;
    const deadlineMs = options.deadlineMs ?? settings.deadlineMs;
    const maxRetries = options.maxRetries ?? settings.maxRetries;
    const limits = { timeoutMs, deadlineMs, maxRetries };
    if (!areLimits(limits)) throw notSent('invalid_option', limitMistakes(limits).join('; '));

    return {
      question,
      request: encodeRequest(settings.origin, question.method, settings.basePath + path.encode(), identity, params),
      signal: options.signal,
      timeoutMs,
      maxRetries,
      deadline: startedAt + deadlineMs,
      sendBy: options.sendBy ?? Number.POSITIVE_INFINITY,
    };
  }

  /** Reads a body for no longer than the call may last. */
  async #withBody<T>(call: Call<T>, body: UnreadBody): Promise<Call<T>> {
    this.#stopIfOver(call, undefined);
    const remainingMs = Math.min(call.deadline - this.#settings.clock.monotonic(), MAX_TIMER_MS);
    const deadline = AbortSignal.timeout(Math.ceil(remainingMs));
    try {
      const signal = call.signal ? AbortSignal.any([call.signal, deadline]) : deadline;
      return { ...call, request: withBody(call.request, await body.read(signal)) };
    } catch (error) {
      if (call.signal?.aborted) throw abortedWaiting(call.question, call.signal.reason, undefined);
      throw deadline.aborted ? timeUp(call.question, 'deadline_exceeded', undefined) : error;
    }
  }

  async #run<T>(call: Call<T>, progress: Progress): Promise<T> {
    const { clock, random } = this.#settings;
    let previous: PaymentsError | undefined;
    for (let retry = 0; ; retry++) {
      this.#stopIfOver(call, previous);
      const ending = await this.#send(call, progress);
      progress.date = header(ending.head, 'date');
      this.#date = progress.date ?? '';
      this.#datedAt = clock.now();
      const verdict = judge(call.question, ending, { previous, clock, redactor: this.#redactor });
      if ('reply' in verdict) {
        progress.status = verdict.status;
        progress.requestId = verdict.requestId;
        return verdict.reply;
      }

      const { failure, tryAgain } = verdict;
      progress.status = failure.status;
      progress.requestId = failure.requestId;
      if (!tryAgain || retry >= call.maxRetries) throw failure;
      const delayMs = retryDelay(retry, requestedDelay(failure), random);
      const limit = this.#lateness(call, delayMs);
      if (limit !== undefined) throw timeUp(call.question, limit, failure);

      const { code, status, requestId } = failure;
      const { method, route } = call.question;
      const fields = { method, route, attempt: retry + 1, status, code, requestId, delayMs };
      this.#log('warn', fields, 'request failed, trying again');
      await clock.sleep(delayMs, call.signal);
      previous = failure;
    }
  }

  #stopIfOver<T>(call: Call<T>, previous: PaymentsError | undefined): void {
    if (call.signal?.aborted) throw abortedWaiting(call.question, call.signal.reason, previous);
    const limit = this.#lateness(call);
    if (limit !== undefined) throw timeUp(call.question, limit, previous);
  }

  /** Sends the request once. */
  #send<T>(call: Call<T>, progress: Progress): Promise<Ending> {
    const { clock } = this.#settings;
    const startedAt = clock.monotonic();
    const remainingMs = call.deadline - startedAt;
    progress.attempts += 1;
    return exchange(this.#outlet, call.request, {
      timeoutMs: Math.min(call.timeoutMs, remainingMs),
      limit: remainingMs <= call.timeoutMs ? 'deadline_exceeded' : 'timeout',
      signal: call.signal,
      lateness: () => this.#lateness(call) ?? (clock.monotonic() - startedAt < call.timeoutMs ? undefined : 'timeout'),
    });
  }

  /** The limit that will have passed `aheadMs` from now. Written so that NaN counts as passed. */
  #lateness<T>(call: Call<T>, aheadMs = 0): Exclude<Lateness, 'timeout'> | undefined {
    const { clock } = this.#settings;
    if (!(clock.monotonic() + aheadMs < call.deadline)) return 'deadline_exceeded';
    if (call.sendBy !== Number.POSITIVE_INFINITY && !(clock.now() + aheadMs < call.sendBy)) return 'send_by_passed';
    return undefined;
  }

  #identityFor(useKey: KeyKind | undefined): Identity {
    if (useKey !== 'public') return this.#secret;
    if (this.#public) return this.#public;
    throw new AuthenticationError("useKey is 'public' but the client has no publicKey. Nothing was sent.", {
      code: 'missing_public_key',
      outcome: 'not_sent',
      retryable: false,
    });
  }

  #report(
    method: Method,
    route: string,
    { attempts, status, requestId, date }: Progress,
    startedAt: number,
    failure: PaymentsError | undefined,
  ): void {
    const { logger, clock } = this.#settings;
    if (logger === undefined && !isWatched()) return;
    const durationMs = clock.monotonic() - startedAt;
    const outcome = failure?.outcome ?? 'done';
    const said = { method, route, status, attempts, outcome, code: failure?.code, durationMs } as const;
    publish({ ...said, date: epochMs(date) });
    if (logger === undefined) return;
    const fields = { ...said, requestId };
    // What may have changed something is worth a line each time; a look is not.
    if (outcome === 'done') this.#log(method === 'GET' ? 'debug' : 'info', fields, 'request done');
    else if (outcome === 'unknown') this.#log('error', fields, 'request failed, outcome unknown');
    else this.#log('warn', fields, 'request failed');
  }

  #log(level: keyof Logger, fields: object, message: string): void {
    try {
      this.#settings.logger?.[level](fields, message);
    } catch {
      // A broken log must not turn a paid charge into a failure.
    }
  }
}

function epochMs(date: string | undefined): number | undefined {
  const instant = Date.parse(date ?? '');
  return Number.isNaN(instant) ? undefined : instant;
}

function requestedDelay(failure: PaymentsError): number | undefined {
  return failure instanceof RateLimitError || failure instanceof ServerError ? failure.retryAfterMs : undefined;
}

function notSent(code: string, message: string, cause?: Error): InvalidRequestError {
  return new InvalidRequestError(`${message}. Nothing was sent.`, {
    code,
    outcome: 'not_sent',
    retryable: false,
    cause,
  });
}

function closed(): ConnectionError {
  return new ConnectionError('The client is closed. Nothing was sent.', {
    code: 'client_closed',
    outcome: 'not_sent',
    retryable: false,
  });
}
