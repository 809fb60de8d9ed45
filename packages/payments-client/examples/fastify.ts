import { type Event, webhooks, WebhookVerificationError } from '@tillflow/payments-client';
import { fastify, type FastifyInstance } from 'fastify';

/** In bytes. Fits an event with a large record. */
const BODY_LIMIT = 1024 * 1024;

/**
 * Receives the provider's webhooks with Fastify.
 * @param secrets base64; give both while you rotate one
 * @param keep stores the event. When it rejects, the answer is 500 and the provider sends the event again.
 */
export function webhookApp(secrets: readonly string[], keep: (event: Event) => Promise<void>): FastifyInstance {
  const app = fastify();
  // A scope of its own: the other routes of the application keep Fastify's JSON parser.
  app.register((scope, _options, done) => {
    // The signature covers the bytes as received, so they are passed on unparsed.
    scope.addContentTypeParser(
      'application/json',
      { parseAs: 'buffer', bodyLimit: BODY_LIMIT },
      (_request, body, parsed) => parsed(null, body),
    );
    scope.post<{ Body: Buffer }>('/webhooks/provider', async (request, reply) => {
      await keep(webhooks.construct(request.body, request.headers, { secrets }));
      return reply.code(204).send();
    });
    scope.setErrorHandler((error, request, reply) => {
      if (!(error instanceof WebhookVerificationError)) return reply.send(error);
      request.log.warn({ reason: error.reason }, 'webhook refused');
      return reply.code(400).send({ error: error.reason });
    });
    done();
  });
  app.post('/orders', (request) => request.body);
  return app;
}
