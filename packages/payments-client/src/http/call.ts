import type { Dispatcher } from 'undici';
import { type PaymentsError, RateLimitError } from '../errors.js';
import { type BodyReader, type Operation, withBody } from '../request/request.js';
import { type AttemptResult, header, type RequestTarget, sendOnce } from './attempt.js';
import { type CallDeadlines, type Clock, MAX_TIMER_MS, passedDeadline } from './deadline.js';
import { decide } from './decision.js';
import { abortedByCaller, clientClosed, deadlinePassed } from './failures.js';
import type { Redactor } from './redaction.js';
import type { CallProgress, CallReporter } from './reporting.js';
import type { RequestLimiter } from './request-limiter.js';
import { retryDelay } from './retry-policy.js';

/** One call, however many requests it takes. */
export interface Call<T> extends CallDeadlines {
  readonly operation: Operation<T>;
  readonly request: Dispatcher.DispatchOptions;
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number;
  readonly maxRetries: number;
}

/** What all calls of a client share. */
export interface CallContext {
  readonly target: RequestTarget;
  readonly clock: Clock;
  readonly random: () => number;
  readonly redactor: Redactor;
  readonly reporter: CallReporter;
  readonly limiter: RequestLimiter;
}

/** Sends the request, and again where that is safe and there is time. @param progress is kept up to date */
export async function runCall<T>(call: Call<T>, context: CallContext, progress: CallProgress): Promise<T> {
  const { clock, random, redactor, reporter, limiter } = context;
  let previous: PaymentsError | undefined;
  for (let retry = 0; ; retry++) {
    throwIfOver(call, clock, previous);
    if (!limiter.tryTake()) await waitForTurn(call, context, previous);
    progress.attempts += 1;
    const result = await attempt(call, context);
    progress.date = header(result.head, 'date');
    progress.datedAt = clock.now();
    const decision = decide(call.operation, result, { previous, clock, redactor });
    if ('reply' in decision) {
      progress.status = decision.status;
      progress.requestId = decision.requestId;
      return decision.reply;
    }

    const { failure, tryAgain } = decision;
    progress.status = failure.status;
    progress.requestId = failure.requestId;
    if (failure instanceof RateLimitError && failure.retryAfterMs !== undefined) limiter.pause(failure.retryAfterMs);
    if (!tryAgain || retry >= call.maxRetries) throw failure;
    const delayMs = retryDelay(retry, failure, random);
    const deadline = passedDeadline(call, clock, delayMs);
    if (deadline !== undefined) throw deadlinePassed(call.operation, deadline, failure);

    reporter.retrying(call.operation, retry + 1, failure, delayMs);
    await clock.sleep(delayMs, call.signal);
    previous = failure;
  }
}

/** The call with its body, which is read for no longer than the call may last. */
export async function callWithBody<T>(call: Call<T>, clock: Clock, readBody: BodyReader): Promise<Call<T>> {
  throwIfOver(call, clock, undefined);
  const remainingMs = Math.min(call.deadline - clock.monotonic(), MAX_TIMER_MS);
  const deadline = AbortSignal.timeout(Math.ceil(remainingMs));
  try {
    const signal = call.signal ? AbortSignal.any([call.signal, deadline]) : deadline;
    return { ...call, request: withBody(call.request, await readBody(signal)) };
  } catch (error) {
    if (call.signal?.aborted) throw abortedByCaller(call.operation, call.signal.reason, undefined);
    throw deadline.aborted ? deadlinePassed(call.operation, 'deadline_exceeded', undefined) : error;
  }
}

async function waitForTurn<T>(
  call: Call<T>,
  { limiter, clock }: CallContext,
  previous: PaymentsError | undefined,
): Promise<void> {
  const turn = await limiter.wait(call.operation.method === 'GET' ? 'read' : 'money', call);
  if (turn === 'closed') throw clientClosed(call.operation, previous);
  // The signal or the clock may have changed since the limiter looked.
  throwIfOver(call, clock, previous);
  if (turn === 'deadline_exceeded' || turn === 'send_by_passed') throw deadlinePassed(call.operation, turn, previous);
}

function throwIfOver<T>(call: Call<T>, clock: Clock, previous: PaymentsError | undefined): void {
  if (call.signal?.aborted) throw abortedByCaller(call.operation, call.signal.reason, previous);
  const deadline = passedDeadline(call, clock);
  if (deadline !== undefined) throw deadlinePassed(call.operation, deadline, previous);
}

function attempt<T>(call: Call<T>, { target, clock }: CallContext): Promise<AttemptResult> {
  const startedAt = clock.monotonic();
  const remainingMs = call.deadline - startedAt;
  return sendOnce(target, call.request, {
    timeoutMs: Math.min(call.timeoutMs, remainingMs),
    deadline: remainingMs <= call.timeoutMs ? 'deadline_exceeded' : 'timeout',
    signal: call.signal,
    passedDeadline: () =>
      passedDeadline(call, clock) ?? (clock.monotonic() - startedAt < call.timeoutMs ? undefined : 'timeout'),
  });
}
