import { Connection, type ConnectionOptions } from '@temporalio/client';
import { GRPC, Refusal } from '../engine/protocol.js';
import type { Service } from '../engine/service.js';
import { running, type Machine } from '../virtual/time.js';
import type { Network } from './network.js';

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];
type Call = ReturnType<Interceptor>;
type Start = Parameters<Call['start']>;

/** Where the calls of a world's clients go. */
export type Destination = {
  readonly network: Network;
  readonly service: Service;
  /** Absent while the engine is down. */
  readonly engine: () => Machine | null;
};

let destination: Destination | null = null;

/** From now on, every client of Temporal in this process calls that engine. */
export function connectTo(where: Destination): void {
  destination = where;
}

/**
 * The last interceptor of every connection: it carries the call to the engine instead of to a socket. The product's own
 * interceptors, which repeat calls and record whether they arrived, come before it.
 */
const toEngine: Interceptor = (options) => {
  const where = destination;
  if (where === null) throw new Error('There is no engine');
  const path = options.method_definition.path.split('/').at(-1) ?? '';
  let listener: Start[1];
  let metadata: Start[0] | undefined;
  let bytes: Uint8Array = new Uint8Array();
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  let giveUp = (): void => undefined;
  const end = (code: number, details: string, detail?: Refusal['detail']): void => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    giveUp();
    // As grpc-js does: a call without an answer gets an empty message before its status.
    if (code !== GRPC.OK) listener?.onReceiveMessage?.(null);
    const trailers = emptyLike(metadata);
    if (detail !== undefined) trailers?.set('grpc-status-details-bin', Buffer.from(detail.bytes));
    listener?.onReceiveStatus?.({ code, details, metadata: trailers } as never);
  };
  const call = {
    start(given: Start[0], to: Start[1]): void {
      metadata = given;
      listener = to;
      const { deadline } = options;
      if (deadline === undefined) return;
      const ms = Number(deadline) - Date.now();
      if (Number.isFinite(ms))
        timer = setTimeout(() => end(GRPC.DEADLINE_EXCEEDED, 'Deadline exceeded'), Math.max(ms, 0));
    },
    sendMessage(message: Uint8Array): void {
      bytes = message;
    },
    sendMessageWithContext(context: { readonly callback?: () => void }, message: Uint8Array): void {
      bytes = message;
      context.callback?.();
    },
    halfClose(): void {
      if (isOver) return;
      const machine = running.getStore();
      const link = machine === undefined ? null : machine.name.startsWith('api') ? 'api-engine' : 'worker-engine';
      const serve = async (): Promise<Uint8Array | Refusal> => {
        try {
          return await where.service.answer(path, bytes, () => isOver);
        } catch (error) {
          if (error instanceof Refusal) return error;
          throw error;
        }
      };
      const ended = (answer: Uint8Array | Refusal): void => {
        if (answer instanceof Refusal) end(answer.code, answer.message, answer.detail);
        else {
          listener?.onReceiveMetadata?.(emptyLike(metadata) as never);
          listener?.onReceiveMessage?.(answer);
          end(GRPC.OK, '');
        }
      };
      if (link === null) {
        // A person who looks at the engine itself.
        void serve().then(ended, (error: unknown) => end(GRPC.UNAVAILABLE, String(error)));
        return;
      }
      giveUp = where.network.exchange(link, where.engine, serve, (result) => {
        if ('answer' in result) ended(result.answer);
        else if (result.broken === 'refused') end(GRPC.UNAVAILABLE, 'No connection established. Last error: refused');
        else end(GRPC.UNAVAILABLE, 'Connection dropped');
      });
    },
    startRead: () => undefined,
    cancelWithStatus: (code: number, details: string) => end(code, details),
    getPeer: () => 'engine',
    getAuthContext: () => null,
  };
  return call as unknown as Call;
};

function emptyLike(metadata: Start[0] | undefined): Start[0] | undefined {
  return metadata === undefined ? undefined : new (metadata.constructor as new () => Start[0])();
}

const lazy = Connection.lazy.bind(Connection);
Connection.lazy = (options: ConnectionOptions = {}) =>
  lazy({ ...options, interceptors: [...(options.interceptors ?? []), toEngine] });
