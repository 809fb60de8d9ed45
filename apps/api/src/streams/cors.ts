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
