import { Injectable, SetMetadata, type CanActivate, type CustomDecorator, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { Problem } from '../problems/problem.js';
import { Settings } from '../settings.provider.js';
import { FailedAttempts } from './failed-attempts.js';
import { findKey, mayActAs, type Role } from './api-keys.js';
import { SignedLinks } from './signed-links.js';

type Access = { readonly role: Role; readonly orSignedLink: boolean; readonly orOpenMetrics?: boolean } | 'open';

const ACCESS = 'tillflow:access';

/** The route wants a key of this role. A route without any mark is refused: nothing is open by oversight. */
export const Requires = (role: Role): CustomDecorator => SetMetadata(ACCESS, { role, orSignedLink: false });
/** As {@link Requires}, or a link that we signed, because `<img>` and `EventSource` cannot send a key. */
export const RequiresKeyOrLink = (role: Role): CustomDecorator => SetMetadata(ACCESS, { role, orSignedLink: true });
/** As {@link Requires}, or everyone, where `METRICS_OPEN` says so. */
export const RequiresUnlessOpen = (role: Role): CustomDecorator =>
  SetMetadata(ACCESS, { role, orSignedLink: false, orOpenMetrics: true });
/** The route is for everyone. */
export const Open = (): CustomDecorator => SetMetadata(ACCESS, 'open');

/** Who asks, for rate limits and logs. */
export type Caller = FastifyRequest & { caller?: string };

/** No key has a colon in its name. */
const LINK = 'link:';

/** Whose key opened the route, as `API_KEYS` names it; `link` for a signed link, undefined for neither. */
export function keyNameOf(request: FastifyRequest): string | undefined {
  const { caller }: Caller = request;
  return caller?.startsWith(LINK) === true ? 'link' : caller;
}

/** True when a signed link opened the route, not a key. */
export function isByLink({ caller }: Caller): boolean {
  return caller?.startsWith(LINK) === true;
}

@Injectable()
export class AuthGuard implements CanActivate {
  readonly #failed: FailedAttempts;

  constructor(
    private readonly reflector: Reflector,
    private readonly settings: Settings,
    private readonly links: SignedLinks,
  ) {
    this.#failed = new FailedAttempts(settings.values.RATE_LIMIT);
  }

  canActivate(context: ExecutionContext): boolean {
    const access = this.reflector.getAllAndOverride<Access | undefined>(ACCESS, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (access === undefined) throw new Problem('forbidden', 'This route is closed');
    if (access === 'open') return true;
    if (access.orOpenMetrics === true && this.settings.values.METRICS_OPEN) return true;
    const request = context.switchToHttp().getRequest<Caller>();
    if (access.orSignedLink && this.links.isSigned(request.url)) {
      request.caller = `${LINK}${request.ip}`;
      return true;
    }
    const [scheme, token] = (request.headers.authorization ?? '').split(' ', 2);
    if (scheme?.toLowerCase() !== 'bearer' || token === undefined || token === '') {
      throw this.#refusal(request.ip, 'Send Authorization: Bearer <key>');
    }
    const key = findKey(this.settings.values.API_KEYS, token);
    if (key === null) throw this.#refusal(request.ip, 'The key is not known');
    if (!mayActAs(key.role, access.role)) throw new Problem('forbidden', `The key's role may not do this`);
    request.caller = key.name;
    return true;
  }

  #refusal(address: string, detail: string): Problem {
    if (!this.#failed.exceeds(address, Date.now())) return new Problem('unauthorized', detail);
    return new Problem('rate_limited', 'Too many requests without a known key', { retryAfterSeconds: 1 });
  }
}
