import type { FastifyInstance } from 'fastify';
import { Problem } from '../problems/problem.js';

/** The one route that takes files. */
const ROUTE = '/v1/disputes/:id/evidence';

/** Leaves a multipart body unread for the route that takes it; any other is refused before a byte of it is read. */
export function takeMultipart(server: Pick<FastifyInstance, 'addContentTypeParser'>): void {
  server.addContentTypeParser('multipart/form-data', (request, _payload, done) => {
    if (request.routeOptions.url === ROUTE) done(null);
    else done(new Problem('unsupported_media_type', 'This route reads JSON'));
  });
}
