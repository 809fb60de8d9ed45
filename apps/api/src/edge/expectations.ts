import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';

/**
 * Node would ask for the body of every request that says `Expect: 100-continue`, and answer any other expectation with an
 * empty 417. Here each is a request like any other: its head decides. Source: RFC 9110, section 10.1.1.
 */
export function decideExpectations({ server }: Pick<FastifyInstance, 'server'>): void {
  for (const event of ['checkContinue', 'checkExpectation'] as const) {
    server.on(event, (request, response) => void server.emit('request', request, response));
  }
}

/** To be called for a request that was admitted: its sender may wait for this before it sends the body. */
export function askForBody({ headers }: IncomingMessage, response: ServerResponse): void {
  if (headers.expect?.toLowerCase() === '100-continue') response.writeContinue();
}
