import type { NestFastifyApplication } from '@nestjs/platform-fastify';

const CODEC = '/codec/';

/** Lets pages of these origins, and no others, call the codec: browsers ask before they do. */
export function allowCodecOrigins(app: NestFastifyApplication, origins: readonly string[]): void {
  app
    .getHttpAdapter()
    .getInstance()
    .addHook('onRequest', (request, reply, done) => {
      if (!request.url.startsWith(CODEC)) {
        done();
        return;
      }
      const { origin, 'access-control-request-headers': wanted } = request.headers;
      void reply.header('vary', 'origin');
      if (origin !== undefined && origins.includes(origin)) {
        void reply.header('access-control-allow-origin', origin);
        void reply.header('access-control-allow-methods', 'POST');
        // Which headers it sends changes with the UI's version; none of them gives a right.
        void reply.header('access-control-allow-headers', wanted ?? 'authorization, content-type, x-namespace');
        void reply.header('access-control-max-age', 600);
      }
      if (request.method === 'OPTIONS') void reply.status(204).send();
      else done();
    });
}
