import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { TillSession } from '@tillflow/temporal';
import type { Share } from '../edge/limits.js';
import { Problem } from '../problems/problem.js';

/** A request with its caller, for audits and logs. */
export type Caller = FastifyRequest & {
  caller?: string;
  /** The expiry of the signed link, in Unix seconds. Undefined for a key. */
  linkExpires?: number;
  /** The session of the counter. Undefined for a key. */
  till?: TillSession;
  /**
   * The requests that the caller can still make in this second. Absent before the request is counted, and on unlimited
   * routes.
   */
  share?: Share;
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
 * The name of the key in `API_KEYS`; `link` for a signed link, the id of the link for a session of the counter; undefined
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
  readonly requestId: string;
  /** A session of the counter: the caller acts for this till only. */
  readonly till?: TillSession | undefined;
};

/** The caller of the request. */
export const AskedBy = createParamDecorator((_: unknown, context: ExecutionContext): Asker => {
  const { caller, id, till } = context.switchToHttp().getRequest<Caller>();
  return { by: caller ?? 'unknown', requestId: id, ...(till === undefined ? {} : { till }) };
});
