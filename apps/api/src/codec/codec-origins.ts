import type { FastifyInstance } from 'fastify';

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
