import { RouteConfig } from '@nestjs/platform-fastify';
import type { Role } from './api-keys.js';

/** Who may call a route, and what is checked before its body is read. */
export type Access = {
  /** The role that a key needs; null: no key is needed; `till`: a session of the counter, and no key. */
  readonly role: Role | 'till' | null;
  /** A session of the counter may call it, for its own till. */
  readonly till?: true;
  /** What permits the call without a key. */
  readonly or?: 'signed link' | 'codec link' | 'METRICS_OPEN';
  /** True for routes without a rate limit. They must be cheap. */
  readonly isUnlimited?: boolean;
  /** The body: JSON when absent. `bytes`: the route gets the raw bytes. `files`: the route reads its body itself. */
  readonly body?: 'bytes' | 'files';
};

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A route without it refuses everyone. */
    access?: Access;
  }
}

/** Stored in the route's configuration, which the API reads before the body arrives. */
const mark = (access: Access): MethodDecorator => RouteConfig({ access });

/** Permits a route to sessions of the counter, besides keys. The route must keep to the till of its caller. */
export const OWN_TILL = { till: true } as const;
type Till = Pick<Access, 'till'>;

/**
 * The route needs a key with this role. A route without a mark refuses everyone, so that no route is open by mistake.
 */
export const Requires = (role: Role, till: Till = {}): MethodDecorator => mark({ role, ...till });
/** As {@link Requires}, or a signed link, because `<img>` and `EventSource` cannot send a key. */
export const RequiresKeyOrLink = (role: Role, till: Till = {}): MethodDecorator =>
  mark({ role, or: 'signed link', ...till });
/** The route needs a session of the counter. */
export const RequiresTill = (): MethodDecorator => mark({ role: 'till', ...OWN_TILL });
/** As {@link Requires}, or open with `METRICS_OPEN`. */
export const RequiresUnlessOpen = (role: Role): MethodDecorator => mark({ role, or: 'METRICS_OPEN' });
/** As {@link Requires}, for a route that reads files from its body and may take the time of an upload. */
export const RequiresForFiles = (role: Role): MethodDecorator => mark({ role, body: 'files' });
/** The route needs a codec address that has not expired. */
export const RequiresCodecLink = (): MethodDecorator => mark({ role: 'ops', or: 'codec link' });
/** The route is open to everyone. */
export const Open = (): MethodDecorator => mark({ role: null });
/** As {@link Open}, without a rate limit. */
export const OpenUnlimited = (): MethodDecorator => mark({ role: null, isUnlimited: true });
/** The route is open to everyone, gets its raw body of at most 64 KB, and counts the senders that it refuses. */
export const OpenForBytes = (): MethodDecorator => mark({ role: null, isUnlimited: true, body: 'bytes' });
