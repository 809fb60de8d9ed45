import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Share } from '../edge/limits.js';

/** Who asks, for audits and logs. */
export type Caller = FastifyRequest & {
  caller?: string;
  /** Set when a signed link opened the route: Unix seconds. */
  linkExpires?: number;
  /** What the limit leaves to the caller. Absent before the request is counted, and on unlimited routes. */
  share?: Share;
};

/** No key has a colon in its name. */
const LINK = 'link:';

/** The caller of a request that a signed link opened. @param address as a client is counted by */
export function linkCaller(address: string): string {
  return `${LINK}${address}`;
}

/** Whose key opened the route, as `API_KEYS` names it; `link` for a signed link, undefined for neither. */
export function keyNameOf(request: FastifyRequest): string | undefined {
  const { caller }: Caller = request;
  return caller?.startsWith(LINK) === true ? 'link' : caller;
}

/** Who asked, for the audit: the name of the API key, and the request as the logs name it. */
export type Asker = { readonly by: string; readonly requestId: string };

/** The one who asks, as the guard knows it. */
export const AskedBy = createParamDecorator((_: unknown, context: ExecutionContext): Asker => {
  const { caller, id } = context.switchToHttp().getRequest<Caller>();
  return { by: caller ?? 'unknown', requestId: id };
});
