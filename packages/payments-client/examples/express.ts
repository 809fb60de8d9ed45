import { type Event, webhooks, WebhookVerificationError } from '@tillflow/payments-client';
import express, { type ErrorRequestHandler, type Express } from 'express';

/** Fits an event with a large record. Express's own limit is 100 KB. */
const BODY_LIMIT = '1mb';

/**
 * Receives the provider's webhooks with Express.
 * @param secrets base64; give both while you rotate one
 * @param keep stores the event. When it rejects, the answer is 500 and the provider sends the event again.
 */
export function webhookApp(secrets: readonly string[], keep: (event: Event) => Promise<void>): Express {
  const app = express();
  // Before express.json(), which would parse the body: the signature covers the bytes as received.
  app.post(
    '/webhooks/provider',
    express.raw({ type: 'application/json', limit: BODY_LIMIT }),
    (request, response, next) => {
      keep(webhooks.construct(request.body, request.headers, { secrets })).then(() => response.status(204).end(), next);
    },
  );
  app.use(express.json());
  app.post('/orders', (request, response) => void response.json(request.body));
  app.use(refuse);
  return app;
}

const refuse: ErrorRequestHandler = (error, _request, response, next) => {
  if (error instanceof WebhookVerificationError) response.status(400).json({ error: error.reason });
  else next(error);
};
