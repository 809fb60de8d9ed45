import type { FastifyInstance } from 'fastify';

/** The routes that a page may read with a signed link. Every other route needs a key, which a page should not have. */
const ROUTES: ReadonlySet<string> = new Set(['/v1/checkouts/:id/events', '/v1/checkouts/:id/qr']);

/**
 * Permits pages of these origins to read streams and QR images. An `EventSource` sends no preflight request. Source:
 * Fetch standard, "CORS protocol".
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

/**
 * Permits only pages of these origins to call the codec, and to read its refusals. Browsers send a preflight request.
 */
export function allowCodecOrigins(server: Pick<FastifyInstance, 'addHook'>, origins: readonly string[]): void {
  server.addHook('onRequest', (request, reply, done) => {
    if (request.url.startsWith(CODEC)) {
      const { origin, 'access-control-request-headers': wanted } = request.headers;
      void reply.header('vary', 'origin');
      if (origin !== undefined && origins.includes(origin)) {
        void reply.header('access-control-allow-origin', origin);
        void reply.header('access-control-allow-methods', 'POST');
        // The headers depend on the version of the UI. None of them gives a right.
        void reply.header('access-control-allow-headers', wanted ?? 'authorization, content-type, x-namespace');
        void reply.header('access-control-max-age', 600);
      }
    }
    done();
  });
}
