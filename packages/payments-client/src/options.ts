import type { Dispatcher } from 'undici';
import { API_VERSION_HEADER, PUBLIC_KEY_PREFIX, SECRET_KEY_PREFIX } from './assumptions.js';
import { ConfigurationError } from './errors.js';
import { type Clock, systemClock } from './http/deadline.js';

/** Receives the client's log lines; pino fits. They never contain a key, a body, or an id in a route. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Which key signs a call. */
export type KeyKind = 'secret' | 'public';

/** Settings of a {@link PaymentsClient}. */
export interface PaymentsClientOptions {
  /** Names the client in its reports, where a process has several. */
  name?: string | undefined;
  /** Base address, http or https. Its path, if any, is kept. */
  baseUrl: string;
  /** Signs every call, unless the call says otherwise. */
  secretKey: string;
  /** Signs calls with `useKey: 'public'`. The provider takes it for sources only. */
  publicKey?: string | undefined;
  /** API version of each request, e.g. `2025-06-09`. Default: the account's. */
  apiVersion?: string | undefined;
  /** Limit for one attempt, from dispatch to the last byte of the body, in milliseconds. Default 10 000. */
  timeoutMs?: number | undefined;
  /** Limit for the whole call with its retries, in milliseconds. Default 30 000, or `timeoutMs` if that is longer. */
  deadlineMs?: number | undefined;
  /** Number of retries of a call: n means at most n + 1 requests. Default 3. */
  maxRetries?: number | undefined;
  /**
   * Limits the requests of this client to this many a second, retries included; up to one second's worth, and at least
   * one, may leave at once. Calls that change something leave before reads, of which at least every tenth request is
   * one. A call whose `sendBy` or deadline passes meanwhile is not sent. Default 0: no limit. With or without it, a 429
   * with Retry-After holds back every call of the client for that time, at most one minute.
   */
  requestsPerSecond?: number | undefined;
  /** Sends the requests instead of the client's own connection pool. The caller closes it. */
  dispatcher?: Pick<Dispatcher, 'dispatch'> | undefined;
  logger?: Logger | undefined;
  /** Default `tillflow-payments-client/<version>`. */
  userAgent?: string | undefined;
  /** Name of the header that carries `apiVersion`. Default `Api-Version` (assumption). */
  apiVersionHeader?: string | undefined;
  /**
   * Names of the metadata by which you find records. A create whose reply lacks or changes one of them fails with an
   * {@link IntegrityError}; other metadata may differ. Default: every name that a create sends.
   */
  searchedMetadata?: readonly string[] | undefined;
  /** Default: the system's. */
  clock?: Clock | undefined;
  /** Uniform in [0, 1), for the jitter between retries. Default `Math.random`. */
  random?: (() => number) | undefined;
}

/** Settings of one call; each overrides the client's. */
export interface RequestOptions {
  /** Aborts the call. */
  signal?: AbortSignal | undefined;
  /** Limit for one attempt, in milliseconds. */
  timeoutMs?: number | undefined;
  /** Limit for the whole call with its retries, in milliseconds. */
  deadlineMs?: number | undefined;
  /** n means at most n + 1 requests. */
  maxRetries?: number | undefined;
  /** Default `secret`. `public` without a public key fails before sending. */
  useKey?: KeyKind | undefined;
  /**
   * Instant in epoch milliseconds, by the client's `clock`, from which on nothing is sent: the call then fails with a
   * {@link TimeoutError} `send_by_passed`. The client checks it immediately before each write, so that a process that
   * was stopped and resumes does not send late.
   */
  sendBy?: number | undefined;
}

/** {@link PaymentsClientOptions}, checked and with defaults. */
export interface Settings {
  name: string | undefined;
  origin: string;
  basePath: string;
  secretKey: string;
  publicKey: string | undefined;
  apiVersion: string | undefined;
  apiVersionHeader: string;
  searchedMetadata: ReadonlySet<string> | undefined;
  userAgent: string;
  timeoutMs: number;
  deadlineMs: number;
  maxRetries: number;
  requestsPerSecond: number;
  dispatcher: Pick<Dispatcher, 'dispatch'> | undefined;
  logger: Logger | undefined;
  clock: Clock;
  random: () => number;
}

/** The version in package.json; a test compares the two. */
export const VERSION = '1.0.0-rc.1';

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_DEADLINE_MS = 30_000;
const DEFAULT_MAX_RETRIES = 3;

const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
const HEADER_VALUE = /^[\x20-\x7e]+$/;
/** Without a colon, which would end the user name of HTTP Basic. */
const KEY = /^[\x21-\x39\x3b-\x7e]+$/;

/** @throws {ConfigurationError} listing every mistake. */
export function resolveSettings(options: PaymentsClientOptions): Settings {
  const url = URL.canParse(options.baseUrl) ? new URL(options.baseUrl) : null;
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const deadlineMs = options.deadlineMs ?? Math.max(DEFAULT_DEADLINE_MS, timeoutMs);
  const maxRetries = options.maxRetries ?? DEFAULT_MAX_RETRIES;
  const requestsPerSecond = options.requestsPerSecond ?? 0;
  const userAgent = options.userAgent ?? `tillflow-payments-client/${VERSION}`;
  const apiVersionHeader = options.apiVersionHeader ?? API_VERSION_HEADER;

  const mistakes = [
    ...baseUrlMistakes(url),
    ...keyMistakes('secretKey', options.secretKey, PUBLIC_KEY_PREFIX, 'public'),
    ...(options.publicKey === undefined
      ? []
      : keyMistakes('publicKey', options.publicKey, SECRET_KEY_PREFIX, 'secret')),
    ...limitMistakes({ timeoutMs, deadlineMs, maxRetries }),
    ...(Number.isFinite(requestsPerSecond) && requestsPerSecond >= 0
      ? []
      : ['requestsPerSecond must be a number, 0 or more']),
    ...(HEADER_VALUE.test(userAgent) ? [] : ['userAgent must be printable ASCII']),
    ...(options.apiVersion === undefined || HEADER_VALUE.test(options.apiVersion)
      ? []
      : ['apiVersion must be printable ASCII']),
    ...(HEADER_NAME.test(apiVersionHeader) ? [] : ['apiVersionHeader is not a header name']),
  ];
  if (url === null || mistakes.length > 0) throw new ConfigurationError(mistakes);

  return {
    name: options.name,
    origin: url.origin,
    basePath: url.pathname.replace(/\/+$/, ''),
    secretKey: options.secretKey,
    publicKey: options.publicKey,
    apiVersion: options.apiVersion,
    apiVersionHeader,
    searchedMetadata: options.searchedMetadata === undefined ? undefined : new Set(options.searchedMetadata),
    userAgent,
    timeoutMs,
    deadlineMs,
    maxRetries,
    requestsPerSecond,
    dispatcher: options.dispatcher,
    logger: options.logger,
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
  };
}

interface Limits {
  timeoutMs: number;
  deadlineMs: number;
  maxRetries: number;
}

/** The mistakes in these limits; empty when there are none. */
export function limitMistakes({ timeoutMs, deadlineMs, maxRetries }: Limits): string[] {
  const mistakes: string[] = [];
  if (!(timeoutMs > 0)) mistakes.push('timeoutMs must be a positive number of milliseconds');
  if (!(deadlineMs > 0)) mistakes.push('deadlineMs must be a positive number of milliseconds');
  if (!(Number.isInteger(maxRetries) && maxRetries >= 0)) mistakes.push('maxRetries must be a whole number, 0 or more');
  return mistakes;
}

function baseUrlMistakes(url: URL | null): string[] {
  if (url === null) return ['baseUrl is not a URL'];
  return [
    ...(url.protocol === 'http:' || url.protocol === 'https:' ? [] : ['baseUrl must be http or https']),
    ...(url.username === '' && url.password === '' ? [] : ['baseUrl must not contain credentials']),
    ...(url.search === '' && url.hash === '' ? [] : ['baseUrl must not contain a query or fragment']),
  ];
}

function keyMistakes(name: string, key: unknown, otherPrefix: string, otherKind: KeyKind): string[] {
  if (typeof key !== 'string' || key === '') return [`${name} is missing`];
  if (!KEY.test(key)) return [`${name} contains white space, a colon or a character beyond ASCII`];
  return key.startsWith(otherPrefix) ? [`${name} is a ${otherKind} key`] : [];
}
