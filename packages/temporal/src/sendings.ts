import { AsyncLocalStorage } from 'node:async_hooks';
import type { ConnectionOptions } from '@temporalio/client';

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];
type Status = { readonly code: number; readonly details: string };

/** gRPC's numbers. */
const OK = 0;
const DEADLINE_EXCEEDED = 4;
const RESOURCE_EXHAUSTED = 8;
const UNAVAILABLE = 14;
/** The server's own word that it did not do it: invalid argument, not found, already exists, permission denied, … */
const REFUSED: ReadonlySet<number> = new Set([3, 5, 6, 7, 8, 9, 12, 16]);

/** What happened to the calls of one piece of work, tries that were repeated included. */
class Sendings {
  #hasArrived = false;
  #underWay = 0;

  constructor(private readonly around: Sendings | undefined) {}

  /** A try without a status is on its way: it may have arrived. */
  get mayHaveArrived(): boolean {
    return this.#hasArrived || this.#underWay > 0;
  }

  begin(): void {
    this.#underWay += 1;
    this.around?.begin();
  }

  end(hasArrived: boolean): void {
    this.#underWay -= 1;
    this.#hasArrived ||= hasArrived;
    this.around?.end(hasArrived);
  }
}

const current = new AsyncLocalStorage<Sendings>();
const withoutEffect = new WeakSet<object>();

/** Watches what becomes of each try: to be placed after the interceptor that repeats a call. */
export const watchSendings: Interceptor = (options, nextCall) => {
  const sendings = current.getStore();
  // A chain of interceptors uses the interface only; the type names the class.
  const call = nextCall(options) as ReturnType<Interceptor>;
  if (sendings === undefined) return call;
  const start = call.start.bind(call);
  call.start = (metadata, listener) => {
    sendings.begin();
    start(metadata, {
      ...listener,
      onReceiveMessage: (message: unknown) => listener?.onReceiveMessage?.(message),
      onReceiveMetadata: (received) => listener?.onReceiveMetadata?.(received),
      onReceiveStatus: (status) => {
        sendings.end(mayHaveArrived(status));
        listener?.onReceiveStatus?.(status);
      },
    });
  };
  return call;
};

/** Runs `work`; when it fails, {@link hadNoEffect} knows whether Temporal may have done it. */
export async function watched<T>(work: () => Promise<T>): Promise<T> {
  const sendings = new Sendings(current.getStore());
  try {
    return await current.run(sendings, work);
  } catch (error) {
    if (!sendings.mayHaveArrived && typeof error === 'object' && error !== null) withoutEffect.add(error);
    throw error;
  }
}

/**
 * Whether this failure of a call is proof that Temporal did nothing: it was not sent, or Temporal refused it. Anything
 * else may have been done, or may still be done.
 */
export function hadNoEffect(error: unknown): boolean {
  return typeof error === 'object' && error !== null && withoutEffect.has(error);
}

/** For a failure that is known to have come before anything was sent. @returns the error */
export function declareWithoutEffect<T extends Error>(error: T): T {
  withoutEffect.add(error);
  return error;
}

/** Of what never left, grpc-js names no remote address, or says that there was no connection. Source: grpc-js 1.14. */
function mayHaveArrived({ code, details }: Status): boolean {
  if (code === OK) return true;
  // grpc-js makes these up: of a stream that the server or a proxy broke off, and of an answer that is too long.
  if (code === RESOURCE_EXHAUSTED && /^Bandwidth exhausted|larger than max/.test(details)) return true;
  if (REFUSED.has(code)) return false;
  if (code === UNAVAILABLE) return !/No connection established|Name resolution failed/.test(details);
  if (code === DEADLINE_EXCEEDED) return !/Waiting for LB pick|waiting for (name resolution|metadata)/.test(details);
  return true;
}
