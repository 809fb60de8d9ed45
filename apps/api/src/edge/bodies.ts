import type { FastifyInstance } from 'fastify';
import type { Access } from '../auth/access.js';
import { Problem } from '../problems/problem.js';
import { parseJson, refuseUnfitNames } from './json.js';

/** The largest webhook, in bytes. */
const RAW_BODY_BYTES = 65_536;

/**
 * Routes read JSON. A route with the mark `bytes` gets the raw bytes, and a route with the mark `files` reads its own
 * multipart body. Every other body is refused before it is read.
 */
export function takeBodies(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    if (isRaw(request.routeOptions.config.access)) {
      done(null, body);
      return;
    }
    const value = parseJson(body);
    refuseUnfitNames(value);
    done(null, value);
  });
  server.addContentTypeParser('multipart/form-data', (request, _payload, done) => {
    const { access } = request.routeOptions.config;
    if (access?.body === 'files') done(null);
    else done(new Problem('unsupported_media_type', 'This route reads JSON'));
  });
  server.addHook('onRoute', (route) => {
    if (isRaw(route.config?.access)) route.bodyLimit = RAW_BODY_BYTES;
  });
}

function isRaw(access: Access | undefined): boolean {
  return access?.body === 'bytes';
}
