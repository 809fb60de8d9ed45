import type { FastifyInstance } from 'fastify';
import { Problem } from '../problems/problem.js';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** The router, as far as it is used here. Its own `findRoute` takes a path, not only a pattern. */
type Router = Pick<FastifyInstance, 'addHook' | 'findRoute'>;

/**
 * Answers a method that a path does not have: OPTIONS with 204, any other with 405, both with `Allow`. This gives other
 * origins no rights. A path that exists for no method is 404. Source: RFC 9110, section 15.5.6.
 */
export function refuseOtherMethods(server: Router): void {
  server.addHook('onRequest', (request, reply, done) => {
    const allowed = request.is404 ? allowedAt(server, request.url) : [];
    if (allowed.length === 0) {
      done();
      return;
    }
    void reply.header('allow', [...allowed, 'OPTIONS'].join(', '));
    if (request.method === 'OPTIONS') void reply.status(204).send();
    else done(new Problem('method_not_allowed', `This path supports ${allowed.join(', ')}`));
  });
}

function allowedAt(server: Router, url: string): readonly string[] {
  return METHODS.filter((method) => {
    const route = server.findRoute({ method, url });
    // The router finds a path whose parameter is empty; the framework answers it with 404.
    return route !== null && Object.values(route.params).every((value) => value !== '');
  });
}
