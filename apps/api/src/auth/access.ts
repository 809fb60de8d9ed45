import { RouteConfig } from '@nestjs/platform-fastify';
import type { Role } from './api-keys.js';

/** Who may use a route, and what it needs before any of its body is read. */
export type Access = {
  /** The role that a key needs; null: no key is needed. */
  readonly role: Role | null;
  /** What opens the route in place of a key. */
  readonly or?: 'signed link' | 'codec link' | 'METRICS_OPEN';
  /** True for what must answer however much is asked: it has to be cheap. */
  readonly isUnlimited?: boolean;
  /** What the body is: JSON when absent. Raw bytes are handed to the route unread; a route for files reads its own body. */
  readonly body?: 'bytes' | 'files';
};

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A route without it is closed to everyone. */
    access?: Access;
  }
}

/** Written into the route itself: it is looked at before the body arrives, long before the controller. */
const mark = (access: Access): MethodDecorator => RouteConfig({ access });

/** The route wants a key of this role. A route without any mark is refused: nothing is open by oversight. */
export const Requires = (role: Role): MethodDecorator => mark({ role });
/** As {@link Requires}, or a link that we signed, because `<img>` and `EventSource` cannot send a key. */
export const RequiresKeyOrLink = (role: Role): MethodDecorator => mark({ role, or: 'signed link' });
/** As {@link Requires}, or everyone, where `METRICS_OPEN` says so. */
export const RequiresUnlessOpen = (role: Role): MethodDecorator => mark({ role, or: 'METRICS_OPEN' });
/** As {@link Requires}, for a route that reads files from its body, and has the time of an upload for that. */
export const RequiresForFiles = (role: Role): MethodDecorator => mark({ role, body: 'files' });
/** The route wants an address of the codec that is not over yet. */
export const RequiresCodecLink = (): MethodDecorator => mark({ role: 'ops', or: 'codec link' });
/** The route is for everyone. */
export const Open = (): MethodDecorator => mark({ role: null });
/** As {@link Open}, and without a limit. */
export const OpenUnlimited = (): MethodDecorator => mark({ role: null, isUnlimited: true });
/** The route is for everyone, gets its body as it came, at most 64 KB, and counts those whom it refuses. */
export const OpenForBytes = (): MethodDecorator => mark({ role: null, isUnlimited: true, body: 'bytes' });
