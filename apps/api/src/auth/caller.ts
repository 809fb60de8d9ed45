import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Key, Place, TillSession } from '@tillflow/temporal';
import type { Share } from '../edge/limits.js';
import type { ProblemCode } from '../problems/catalog.js';
import { Problem } from '../problems/problem.js';

/** A request with its caller, for audits and logs. */
export type Caller = FastifyRequest & {
  caller?: string;
  /** The key. Undefined for a link and a session. */
  key?: Key;
  /** The request has a bearer token that is neither a key nor a session. */
  hasWrongKey?: true;
  /** The expiry of the signed link, in Unix seconds. Undefined for a key. */
  linkExpires?: number;
  /** The session of the counter. Undefined for a key. */
  till?: TillSession;
  /**
   * The requests that the caller can still make in this second. Absent before the request is counted, and on unlimited
   * routes.
   */
  share?: Share;
  /** The error that answers the request. */
  problem?: ProblemCode;
};

/** The name of a key has no colon. */
const LINK = 'link:';

/** The caller of a request with a signed link. @param address of the client */
export function linkCaller(address: string): string {
  return `${LINK}${address}`;
}

/**
 * The caller of a request with a session of the counter. Its link comes first: tills of two stores may have one name, and
 * `askerOf` cuts off the end of a long one.
 */
export function tillCaller({ link, terminal }: TillSession): string {
  return `counter:${link}:${terminal}`;
}

/**
 * The name of the key; `link` for a signed link, the id of the link for a session of the counter; undefined
 * for none of them.
 */
export function keyNameOf(request: FastifyRequest): string | undefined {
  const { caller, till }: Caller = request;
  if (till !== undefined) return till.link;
  return caller?.startsWith(LINK) === true ? 'link' : caller;
}

/** @throws {Problem} `forbidden` for a key */
export function tillOf({ till }: Caller): TillSession {
  if (till === undefined) throw new Problem('forbidden', 'Only a session of the counter is allowed to do this');
  return till;
}

/** The caller, for the audit: the name of the API key, or the link and till of a session; and the request's id in the logs. */
export type Asker = {
  readonly by: string;
  /** The address of the client. */
  readonly origin: string;
  readonly requestId: string;
  /** The caller acts for this place only. Undefined: for the whole account. */
  readonly place?: Place | undefined;
  /** The key. Undefined for a session. */
  readonly key?: Key | undefined;
  /** A session of the counter: the caller acts for this till only. */
  readonly till?: TillSession | undefined;
};

/** The caller of the request. */
export const AskedBy = createParamDecorator((_: unknown, context: ExecutionContext): Asker => {
  const request = context.switchToHttp().getRequest<Caller>();
  const { caller, id, ip, key, till } = request;
  return {
    by: caller ?? 'unknown',
    origin: ip,
    requestId: id,
    key,
    place: placeOf(request),
    ...(till === undefined ? {} : { till }),
  };
});

/** Where the caller may act: at the till of a session, or at the stores and tills of a key. Undefined: everywhere. */
export function placeOf({ key, till }: Pick<Caller, 'key' | 'till'>): Place | undefined {
  if (till !== undefined) return { stores: [till.store?.id ?? null], terminals: [till.terminal] };
  if (key === undefined || (key.stores ?? key.terminals) === null) return undefined;
  return { stores: key.stores, terminals: key.terminals };
}

export function describePlace({ stores, terminals }: Place): string {
  return [
    ...(terminals === null ? [] : [`the tills ${terminals.join(', ')}`]),
    ...(stores === null ? [] : [`the stores ${stores.join(', ')}`]),
  ].join(' in ');
}

/** @throws {Problem} `forbidden` for a session */
export function callersKey({ key }: Caller): Key {
  if (key === undefined) throw new Problem('forbidden', 'Only a key is allowed to do this');
  return key;
}
