import { inspect } from 'node:util';
import type { z } from 'zod';
import { AuthenticationError, notSent, PaymentsError, UnexpectedResponseError } from '../errors.js';
import { type KeyKind, limitMistakes, type RequestOptions, type Settings } from '../options.js';
import { differentRecord, type ReplyComparison } from '../reply/integrity.js';
import { copyParams } from '../request/params.js';
import type { Path } from '../request/path.js';
import {
  type BodyReader,
  type Credentials,
  credentialsOf,
  encodeRequest,
  type Method,
  type Operation,
} from '../request/request.js';
import type { RequestTarget } from './attempt.js';
import { type Call, type CallContext, callWithBody, runCall } from './call.js';
import { type ConnectionPool, openPool } from './connection-pool.js';
import { clientClosed } from './failures.js';
import { Redactor } from './redaction.js';
import { type CallProgress, CallReporter } from './reporting.js';
import { RequestLimiter } from './request-limiter.js';

/** Limits the handshake, however long `timeoutMs` is. */
const MAX_CONNECT_MS = 10_000;

const LAST_OF_SECOND_MS = 999;

/**
 * Sends requests, retries where that is safe, and returns a checked reply or throws a {@link PaymentsError}.
 * It retries GET, PATCH and DELETE on not sent, 429, 5xx, a broken connection and a timeout. It retries POST only on
 * not sent and 429, because nothing makes a repeated POST harmless (assumption: the provider honours no idempotency
 * key).
 */
export class RequestSender {
  readonly #settings: Settings;
  readonly #pool: ConnectionPool | undefined;
  readonly #context: CallContext;
  readonly #secret: Credentials;
  readonly #public: Credentials | undefined;
  /** Of the last call that sent something. */
  #lastProgress: CallProgress | undefined;
  #callsInFlight = 0;
  #onIdle: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  constructor(settings: Settings) {
    const { secretKey, publicKey, dispatcher, clock, random, requestsPerSecond } = settings;
    this.#settings = settings;
    this.#secret = credentialsOf(settings, secretKey);
    this.#public = publicKey === undefined ? undefined : credentialsOf(settings, publicKey);
    let target: RequestTarget;
    if (dispatcher === undefined) {
      this.#pool = openPool(settings.origin, Math.min(settings.timeoutMs, MAX_CONNECT_MS));
      target = { dispatcher: this.#pool.dispatcher, announcesSending: true };
    } else {
      target = { dispatcher, announcesSending: false };
    }
    const redactor = new Redactor(publicKey === undefined ? [secretKey] : [secretKey, publicKey]);
    const reporter = new CallReporter(settings.logger, clock, { client: settings.name, origin: settings.origin });
    const limiter = new RequestLimiter(requestsPerSecond, clock);
    this.#context = { target, clock, random, redactor, reporter, limiter };
  }

  /** @param params become the query string */
  get<T>(path: Path, params: object | undefined, schema: z.ZodType<T>, options?: RequestOptions): Promise<T> {
    return this.#call('GET', path, params, schema, options);
  }

  /**
   * @param compare finds the fields that the reply contradicts; if it finds any, the call fails with an {@link
   * IntegrityError}
   */
  post<T, P extends object>(
    path: Path,
    params: P | undefined,
    schema: z.ZodType<T>,
    options?: RequestOptions,
    compare?: ReplyComparison<P, T>,
  ): Promise<T> {
    return this.#call('POST', path, params, schema, options, compare);
  }

  /** A POST whose body is read when the call is made. @param compare as for {@link post} */
  upload<T>(
    path: Path,
    readBody: BodyReader,
    schema: z.ZodType<T>,
    options: RequestOptions | undefined,
    compare: ReplyComparison<object, T>,
  ): Promise<T> {
    return this.#call('POST', path, {}, schema, options, compare, readBody);
  }

  /** @param compare as for {@link post} */
  patch<T, P extends object>(
    path: Path,
    params: P | undefined,
    schema: z.ZodType<T>,
    options?: RequestOptions,
    compare?: ReplyComparison<P, T>,
  ): Promise<T> {
    return this.#call('PATCH', path, params, schema, options, compare);
  }

  delete<T>(path: Path, schema: z.ZodType<T>, options?: RequestOptions): Promise<T> {
    return this.#call('DELETE', path, undefined, schema, options);
  }

  /** Wall clock of this client, in epoch milliseconds. */
  now(): number {
    return this.#settings.clock.now();
  }

  /**
   * How far the provider's clock is ahead of this machine's, in milliseconds, by the date of its last reply; 0 when it
   * is not.
   */
  providerAheadMs(): number {
    const { date = '', datedAt = 0 } = this.#lastProgress ?? {};
    const aheadMs = Date.parse(date) - datedAt;
    // A date has whole seconds: assume the end of its second.
    return aheadMs > 0 ? aheadMs + LAST_OF_SECOND_MS : 0;
  }

  /**
   * Refuses new calls and those that wait for the request limit, lets those in flight finish, and closes the sockets. A
   * `dispatcher` of the caller's stays open.
   */
  close(): Promise<void> {
    this.#context.limiter.close();
    this.#closing ??= this.#idle().then(() => this.#pool?.close());
    return this.#closing;
  }

  #idle(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#callsInFlight === 0) resolve();
      else this.#onIdle = resolve;
    });
  }

  toJSON(): object {
    return { baseUrl: this.#settings.origin + this.#settings.basePath };
  }

  [inspect.custom](): string {
    return `RequestSender ${inspect(this.toJSON())}`;
  }

  async #call<T, P extends object>(
    method: Method,
    path: Path,
    params: P | undefined,
    schema: z.ZodType<T>,
    options: RequestOptions = {},
    compare?: ReplyComparison<P, T>,
    readBody?: BodyReader,
  ): Promise<T> {
    const startedAt = this.#settings.clock.monotonic();
    const progress: CallProgress = { attempts: 0, status: undefined };
    let failure: PaymentsError | undefined;
    this.#callsInFlight += 1;
    try {
      const credentials = this.#credentialsFor(options.useKey);
      // Everything that is sent and compared is settled here, before the first await.
      const sent = params === undefined ? undefined : copyParams(params);
      const rules = { livemode: credentials.livemode, searchedMetadata: this.#settings.searchedMetadata };
      const contradictions = (reply: T): readonly string[] => [
        ...differentRecord(path.subject, reply),
        ...(compare === undefined || sent === undefined ? [] : compare(sent, reply, rules)),
      ];
      const operation = { method, route: path.route, schema, contradictions };
      const call = this.#prepare(operation, credentials, path, sent, options, startedAt);
      const ready = readBody === undefined ? call : await callWithBody(call, this.#settings.clock, readBody);
      return await runCall(ready, this.#context, progress);
    } catch (error) {
      failure = error instanceof PaymentsError ? error : this.#unforeseen(error, progress);
      throw failure;
    } finally {
      this.#context.reporter.ended(method, path.route, progress, startedAt, failure);
      if (progress.attempts > 0) this.#lastProgress = progress;
      this.#callsInFlight -= 1;
      if (this.#callsInFlight === 0) this.#onIdle?.();
    }
  }

  /** Parameters of a wrong type can make any code throw. The caller still learns whether something was sent. */
  #unforeseen(error: unknown, { attempts, status }: CallProgress): PaymentsError {
    const cause = this.#context.redactor.cause(error);
    if (attempts === 0) return notSent('invalid_parameter', 'A parameter cannot be sent', cause);
    return new UnexpectedResponseError('The reply could not be compared with the request: look the record up.', {
      code: 'unexpected_response',
      outcome: 'unknown',
      retryable: false,
      status,
      cause,
    });
  }

  #prepare<T>(
    operation: Operation<T>,
    credentials: Credentials,
    path: Path,
    params: object | undefined,
    options: RequestOptions,
    startedAt: number,
  ): Call<T> {
    const settings = this.#settings;
    if (this.#closing) throw clientClosed(operation, undefined);
    const timeoutMs = options.timeoutMs ?? settings.timeoutMs;
    const deadlineMs = options.deadlineMs ?? settings.deadlineMs;
    const maxRetries = options.maxRetries ?? settings.maxRetries;
    const mistakes = limitMistakes({ timeoutMs, deadlineMs, maxRetries });
    if (mistakes.length > 0) throw notSent('invalid_option', mistakes.join('; '));

    const address = settings.basePath + path.encode();
    return {
      operation,
      request: encodeRequest(settings.origin, operation.method, address, credentials, params),
      signal: options.signal,
      timeoutMs,
      maxRetries,
      deadline: startedAt + deadlineMs,
      sendBy: options.sendBy ?? Number.POSITIVE_INFINITY,
    };
  }

  #credentialsFor(useKey: KeyKind | undefined): Credentials {
    if (useKey !== 'public') return this.#secret;
    if (this.#public) return this.#public;
    throw new AuthenticationError("useKey is 'public' but the client has no publicKey. Nothing was sent.", {
      code: 'missing_public_key',
      outcome: 'not_sent',
      retryable: false,
    });
  }
}
