import type { Dispatcher } from 'undici';
import { type Body, decodeBody } from '../reply/body.js';
import { type DeadlineKind, MAX_TIMER_MS } from './deadline.js';
import { errorCode } from './redaction.js';

/** No reply of this API is this large. A larger one would only exhaust memory. */
export const MAX_RESPONSE_BYTES = 32 * 1024 * 1024;

/** Names in lower case. A header that came several times is an array. */
type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Status and headers of a final reply. */
export interface ResponseHead {
  readonly status: number;
  readonly headers: Headers;
}

/** The value of a header, the first one where it came several times. */
export function header(head: ResponseHead | undefined, name: string): string | undefined {
  const value = head?.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** An attempt that ended without a complete reply. */
export type FailedAttempt = {
  /** False only when provably no byte of the request left. */
  readonly sent: boolean;
  /** Present when the reply broke off after its head. */
  readonly head: ResponseHead | undefined;
} & (
  | { readonly kind: 'broken' | 'aborted'; readonly cause: unknown }
  | { readonly kind: 'timed_out' | 'too_late'; readonly deadline: DeadlineKind }
  | { readonly kind: 'oversized' }
);

/** How one attempt ended. */
export type AttemptResult =
  | { readonly kind: 'replied'; readonly head: ResponseHead; readonly body: Body }
  | FailedAttempt;

export interface AttemptLimits {
  /** Milliseconds from now to the last byte of the body. */
  readonly timeoutMs: number;
  /** The limit that `timeoutMs` enforces. */
  readonly deadline: 'timeout' | 'deadline_exceeded';
  readonly signal: AbortSignal | undefined;
  /** Called immediately before the write. Returns the limit that has passed, if any. */
  readonly passedDeadline: () => DeadlineKind | undefined;
}

/** Where requests go. */
export interface RequestTarget {
  readonly dispatcher: Pick<Dispatcher, 'dispatch'>;
  /**
   * True for undici's own pool, which calls `onRequestStart` before it writes: without that call nothing was sent. A
   * dispatcher of the caller's may only forward errors.
   */
  readonly announcesSending: boolean;
}

/** Sends one request once. Never rejects. */
export function sendOnce(
  target: RequestTarget,
  request: Dispatcher.DispatchOptions,
  limits: AttemptLimits,
): Promise<AttemptResult> {
  return new Promise((resolve) => {
    const handler = new AttemptHandler(target.announcesSending, limits, resolve);
    try {
      target.dispatcher.dispatch(request, handler);
    } catch (error) {
      handler.fail(error);
    }
  });
}

/**
 * Handles one dispatched request and records whether any byte may have left. undici calls `onRequestStart` immediately
 * before it writes; an abort there means that nothing is written.
 */
class AttemptHandler implements Dispatcher.DispatchHandler {
  #controller: Dispatcher.DispatchController | undefined;
  #sent = false;
  #settled = false;
  #head: ResponseHead | undefined;
  readonly #chunks: Buffer[] = [];
  #size = 0;
  readonly #timer: NodeJS.Timeout;
  readonly #onAbort: (() => void) | undefined;
  readonly #announcesSending: boolean;
  readonly #limits: AttemptLimits;
  readonly #resolve: (result: AttemptResult) => void;

  constructor(announcesSending: boolean, limits: AttemptLimits, resolve: (result: AttemptResult) => void) {
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
      // A dispatcher that repeats a request on its own could double a payment. Only the RequestSender retries.
      this.fail(new Error('the dispatcher tried to send the request again'));
    }
    if (this.#settled) {
      controller.abort(new Error('the request has already ended'));
      return;
    }
    this.#controller = controller;
    const deadline = this.#limits.passedDeadline();
    if (deadline === undefined) this.#sent = true;
    else this.#giveUp({ kind: 'too_late', deadline, sent: false, head: undefined });
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    this.#sent = true;
    // A 1xx precedes the final reply.
    if (status >= 200) this.#head = { status, headers };
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size > MAX_RESPONSE_BYTES) this.#giveUp({ kind: 'oversized', sent: true, head: this.#head });
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    if (this.#head === undefined) {
      this.fail(new Error('the reply has no status'));
      return;
    }
    this.#settle({ kind: 'replied', head: this.#head, body: decodeBody(this.#chunks, this.#size) });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.fail(error);
  }

  fail(cause: unknown): void {
    const sent = this.#sent || !(this.#announcesSending || failedBeforeSending(cause));
    this.#settle({ kind: 'broken', cause, sent, head: this.#head });
  }

  timeOut(): void {
    this.#giveUp({ kind: 'timed_out', deadline: this.#limits.deadline, sent: this.#sent, head: this.#head });
  }

  #abort(): void {
    this.#giveUp({ kind: 'aborted', cause: this.#limits.signal?.reason, sent: this.#sent, head: this.#head });
  }

  #giveUp(result: FailedAttempt): void {
    this.#settle(result);
    // Without a controller the request still waits for a socket; onRequestStart will refuse it.
    this.#controller?.abort(new Error(`request ${result.kind}`));
  }

  #settle(result: AttemptResult): void {
    if (this.#settled) return;
    this.#settled = true;
    clearTimeout(this.#timer);
    if (this.#onAbort) this.#limits.signal?.removeEventListener('abort', this.#onAbort);
    this.#resolve(result);
  }
}

function onTimeout(handler: AttemptHandler): void {
  handler.timeOut();
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
