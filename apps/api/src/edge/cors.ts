import type { FastifyInstance } from 'fastify';

/** What a page may read by a signed link. Everything else needs a key, which no page should hold. */
const ROUTES: ReadonlySet<string> = new Set(['/v1/checkouts/:id/events', '/v1/checkouts/:id/qr']);

/**
 * Lets pages of these origins read the streams and QR images. An `EventSource` asks for no permission before, so there
 * is no preflight to answer. Source: Fetch standard, "CORS protocol".
 */
export function allowOrigins(server: Pick<FastifyInstance, 'addHook'>, origins: readonly string[]): void {
  if (origins.length === 0) return;
  const allowed = new Set(origins);
  server.addHook('onRequest', (request, reply, done) => {
    if (ROUTES.has(request.routeOptions.url ?? '')) {
      const { origin } = request.headers;
      void reply.header('vary', 'Origin');
      if (origin !== undefined && allowed.has(origin)) void reply.header('access-control-allow-origin', origin);
    }
    done();
  });
}

const CODEC = '/codec/';

/** Lets pages of these origins, and no others, call the codec and read why they may not: browsers ask before they do. */
export function allowCodecOrigins(server: Pick<FastifyInstance, 'addHook'>, origins: readonly string[]): void {
  server.addHook('onRequest', (request, reply, done) => {
    if (request.url.startsWith(CODEC)) {
      const { origin, 'access-control-request-headers': wanted } = request.headers;
      void reply.header('vary', 'origin');
      if (origin !== undefined && origins.includes(origin)) {
        void reply.header('access-control-allow-origin', origin);
        void reply.header('access-control-allow-methods', 'POST');
        // Which headers it sends changes with the UI's version; none of them gives a right.
        void reply.header('access-control-allow-headers', wanted ?? 'authorization, content-type, x-namespace');
        void reply.header('access-control-max-age', 600);
      }
    }
    done();
  });
}
