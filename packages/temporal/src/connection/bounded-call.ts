import { AsyncLocalStorage } from 'node:async_hooks';
import type { Connection, ConnectionOptions } from '@temporalio/client';

/**
 * The purpose of a call to Temporal: `write` starts a checkout, or writes anything else, `change` requests a change of a
 * checkout, and waits for the provider with it, `read` reads one, `list` searches, `hint` passes a webhook on,
 * `background` is work that no caller waits for.
 */
export type CallKind = 'write' | 'change' | 'read' | 'list' | 'hint' | 'background';

/** Runs `work` within this many milliseconds, limited to as many calls of its kind at a time as the process allows. */
export type Bounded = <T>(kind: CallKind, milliseconds: number, work: () => Promise<T>) => Promise<T>;

/** Temporal did not answer in time. The request may still be carried out, unless {@link hadNoEffect} says otherwise. */
export class TooSlowError extends Error {
  override readonly name = 'TooSlowError';
}

/** The call's own failure carries more detail, so the timer leaves it this much time to arrive first. */
const GRACE_MS = 50;

/**
 * Bounds the time of `work`, including retries and the pauses between them.
 * @throws {TooSlowError} when the time is over; the request may still be carried out.
 */
export async function within<T>(
  connection: Pick<Connection, 'withDeadline'>,
  milliseconds: number,
  work: () => Promise<T>,
): Promise<T> {
  const transmission = new Transmission(transmissions.getStore());
  try {
    return await transmissions.run(transmission, () => withTimer(connection, milliseconds, work));
  } catch (error) {
    if (!transmission.mayHaveArrived && error instanceof Error) declareWithoutEffect(error);
    throw error;
  }
}

async function withTimer<T>(
  connection: Pick<Connection, 'withDeadline'>,
  milliseconds: number,
  work: () => Promise<T>,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new TooSlowError(`Temporal did not answer within ${milliseconds} ms`)),
      milliseconds + GRACE_MS,
    );
  });
  const done = connection.withDeadline(Date.now() + milliseconds, work);
  // A call that is in a pause between two tries fails after the timer.
  done.catch(() => undefined);
  try {
    return await Promise.race([done, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** The requests of one bounded piece of work, including retries. */
class Transmission {
  #hasArrived = false;
  #inFlight = 0;

  constructor(private readonly outer: Transmission | undefined) {}

  /** A request without a status is in flight: it may have arrived. */
  get mayHaveArrived(): boolean {
    return this.#hasArrived || this.#inFlight > 0;
  }

  begin(): void {
    this.#inFlight += 1;
    this.outer?.begin();
  }

  end(hasArrived: boolean): void {
    this.#inFlight -= 1;
    this.#hasArrived ||= hasArrived;
    this.outer?.end(hasArrived);
  }
}

const transmissions = new AsyncLocalStorage<Transmission>();
const withoutEffect = new WeakSet<Error>();

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];

/** Records whether each try reached Temporal. It must come after the interceptor that retries. */
export const recordTransmission: Interceptor = (options, nextCall) => {
  const transmission = transmissions.getStore();
  // Interceptors use the interface only; the type names the class.
  const call = nextCall(options) as ReturnType<Interceptor>;
  if (transmission === undefined) return call;
  const start = call.start.bind(call);
  call.start = (metadata, listener) => {
    transmission.begin();
    start(metadata, {
      ...listener,
      onReceiveMessage: (message: unknown) => listener?.onReceiveMessage?.(message),
      onReceiveMetadata: (received) => listener?.onReceiveMetadata?.(received),
      onReceiveStatus: (status) => {
        transmission.end(mayHaveArrived(status));
        listener?.onReceiveStatus?.(status);
      },
    });
  };
  return call;
};

/**
 * Whether this failure proves that Temporal did nothing: the request was not sent, or Temporal refused it. After any
 * other failure the request may have been carried out, or may still be.
 */
export function hadNoEffect(error: unknown): boolean {
  return error instanceof Error && withoutEffect.has(error);
}

/** Marks a failure that came before anything was sent. @returns the error */
export function declareWithoutEffect<T extends Error>(error: T): T {
  withoutEffect.add(error);
  return error;
}

/** gRPC's status codes. */
const OK = 0;
const DEADLINE_EXCEEDED = 4;
const RESOURCE_EXHAUSTED = 8;
const UNAVAILABLE = 14;
/** The server says that it did nothing: invalid argument, not found, already exists, permission denied, … */
const REFUSED: ReadonlySet<number> = new Set([3, 5, 6, 7, 8, 9, 12, 16]);

/**
 * For a request that was not sent, grpc-js names no remote address, or says that there was no connection. Source:
 * grpc-js 1.14.
 */
function mayHaveArrived({ code, details }: { readonly code: number; readonly details: string }): boolean {
  if (code === OK) return true;
  // grpc-js itself makes these up: for a stream that the server or a proxy reset, and for an answer that is too long.
  if (code === RESOURCE_EXHAUSTED && /^Bandwidth exhausted|larger than max/.test(details)) return true;
  if (REFUSED.has(code)) return false;
  if (code === UNAVAILABLE) return !/No connection established|Name resolution failed/.test(details);
  if (code === DEADLINE_EXCEEDED) return !/Waiting for LB pick|waiting for (name resolution|metadata)/.test(details);
  return true;
}
