import { StringDecoder } from 'node:string_decoder';
import type { Dispatcher } from 'undici';
import { MAX_TIMER_MS } from './clock.js';
import { errorCode } from './redaction.js';

/** A reply this large is no JSON of this API; it would only exhaust memory. */
export const MAX_RESPONSE_BYTES = 32 * 1024 * 1024;

/** Header names in lower case; one that came several times is an array. */
type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Status and headers of a final reply. */
export interface Head {
  readonly status: number;
  readonly headers: Headers;
}

/** One header's value, the first where it came several times. */
export function header(head: Head | undefined, name: string): string | undefined {
  const value = head?.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** A request that ended without a complete reply. */
export type Break = {
  /** False only when provably no byte of the request left. */
  readonly sent: boolean;
  /** Present when the reply broke off after its head. */
  readonly head: Head | undefined;
} & (
  | { readonly how: 'broken' | 'aborted'; readonly cause: unknown }
  | { readonly how: 'timed_out' | 'too_late'; readonly limit: Lateness }
  | { readonly how: 'oversized' }
);

/** How one request ended. */
export type Ending = { readonly how: 'replied'; readonly head: Head; readonly body: string } | Break;

/** Which time limit has passed. */
export type Lateness = 'timeout' | 'deadline_exceeded' | 'send_by_passed';

export interface ExchangeLimits {
  /** From now to the last byte of the body. */
  readonly timeoutMs: number;
  /** What `timeoutMs` stands for. */
  readonly limit: 'timeout' | 'deadline_exceeded';
  readonly signal: AbortSignal | undefined;
  /** Asked immediately before the write: the limit that has passed, if any. */
  readonly lateness: () => Lateness | undefined;
}

/** Where requests go, and whether its silence before a request starts proves that nothing was sent. */
export interface Outlet {
  readonly dispatcher: Pick<Dispatcher, 'dispatch'>;
  /** True for undici's own pool, which announces a request before it writes. A foreign dispatcher may only forward errors. */
  readonly announcesSending: boolean;
}

/** Sends one request once. Never rejects. */
export function exchange(outlet: Outlet, request: Dispatcher.DispatchOptions, limits: ExchangeLimits): Promise<Ending> {
  return new Promise((resolve) => {
    const handler = new ExchangeHandler(outlet.announcesSending, limits, resolve);
    try {
      outlet.dispatcher.dispatch(request, handler);
    } catch (error) {
      handler.fail(error);
    }
  });
}

/**
 * Handler of one dispatched request. It knows whether any byte may have left: undici calls `onRequestStart`
 * immediately before it writes, and an abort there means that nothing is written.
 */
class ExchangeHandler implements Dispatcher.DispatchHandler {
  #controller: Dispatcher.DispatchController | undefined;
  #sent = false;
  #settled = false;
  #head: Head | undefined;
  readonly #chunks: Buffer[] = [];
  #size = 0;
  readonly #timer: NodeJS.Timeout;
  readonly #onAbort: (() => void) | undefined;
  readonly #announcesSending: boolean;
  readonly #limits: ExchangeLimits;
  readonly #resolve: (ending: Ending) => void;

  constructor(announcesSending: boolean, limits: ExchangeLimits, resolve: (ending: Ending) => void) {
    this.#announcesSending = announcesSending;
    this.#limits = limits;
    this.#resolve = resolve;
    this.#timer = setTimeout(onTimeout, Math.min(limits.timeoutMs, MAX_TIMER_MS), this);
    if (limits.signal === undefined) return;
    this.#onAbort = () => this.#abort();
    limits.signal.addEventListener('abort', this.#onAbort);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#sent) {
      // A dispatcher that sends a request a second time by itself could double a payment. Retries are the transport's.
      this.fail(new Error('the dispatcher tried to send the request again'));
    }
    if (this.#settled) {
      controller.abort(new Error('given up'));
      return;
    }
    this.#controller = controller;
    const limit = this.#limits.lateness();
    if (limit === undefined) this.#sent = true;
    else this.#giveUp({ how: 'too_late', limit, sent: false, head: undefined });
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    this.#sent = true;
    // 1xx only announces the final reply.
    if (status >= 200) this.#head = { status, headers };
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size > MAX_RESPONSE_BYTES) this.#giveUp({ how: 'oversized', sent: true, head: this.#head });
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    if (this.#head === undefined) {
      this.fail(new Error('the reply has no status'));
      return;
    }
    this.#settle({ how: 'replied', head: this.#head, body: textOf(this.#chunks) });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.fail(error);
  }

  fail(cause: unknown): void {
    const sent = this.#sent || !(this.#announcesSending || failedBeforeSending(cause));
    this.#settle({ how: 'broken', cause, sent, head: this.#head });
  }

  timeOut(): void {
    this.#giveUp({ how: 'timed_out', limit: this.#limits.limit, sent: this.#sent, head: this.#head });
  }

  #abort(): void {
    this.#giveUp({ how: 'aborted', cause: this.#limits.signal?.reason, sent: this.#sent, head: this.#head });
  }

  #giveUp(ending: Break): void {
    this.#settle(ending);
    // Without a controller the request still waits for a socket; onRequestStart will refuse it.
    this.#controller?.abort(new Error(`request ${ending.how}`));
  }

  #settle(ending: Ending): void {
    if (this.#settled) return;
    this.#settled = true;
    clearTimeout(this.#timer);
    if (this.#onAbort) this.#limits.signal?.removeEventListener('abort', this.#onAbort);
    this.#resolve(ending);
  }
}

function onTimeout(handler: ExchangeHandler): void {
  handler.timeOut();
}

/** A long body is decoded piece by piece: joining its bytes first would copy all of them once more. */
function textOf(chunks: readonly Buffer[]): string {
  const [first] = chunks;
  if (chunks.length <= 1) return first?.toString('utf8') ?? '';
  const decoder = new StringDecoder('utf8');
  const pieces = chunks.map((chunk) => decoder.write(chunk));
  return pieces.join('') + decoder.end();
}

const BEFORE_SENDING = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_FAIL',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_CLOSED',
  'UND_ERR_DESTROYED',
  'UND_ERR_INVALID_ARG',
]);

function failedBeforeSending(error: unknown): boolean {
  return BEFORE_SENDING.has(errorCode(error) ?? '');
}
