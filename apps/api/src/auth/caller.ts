import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Share } from '../edge/limits.js';

/** A request with its caller, for audits and logs. */
export type Caller = FastifyRequest & {
  caller?: string;
  /** The expiry of the signed link, in Unix seconds. Undefined for a key. */
  linkExpires?: number;
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

/** The name of the key in `API_KEYS`; `link` for a signed link, undefined for neither. */
export function keyNameOf(request: FastifyRequest): string | undefined {
  const { caller }: Caller = request;
  return caller?.startsWith(LINK) === true ? 'link' : caller;
}

/** The caller, for the audit: the name of the API key, and the id of the request in the logs. */
export type Asker = { readonly by: string; readonly requestId: string };

/** The caller of the request. */
export const AskedBy = createParamDecorator((_: unknown, context: ExecutionContext): Asker => {
  const { caller, id } = context.switchToHttp().getRequest<Caller>();
  return { by: caller ?? 'unknown', requestId: id };
});
