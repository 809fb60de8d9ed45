import { expect, it } from 'vitest';
import { EndpointPresence } from './endpoint-presence.js';

const logger = { warn: () => undefined };
const keepFeed = (): Promise<void> => Promise.resolve();

it('a worker that has read once that there is no endpoint says so, and until then that there is one', async () => {
  const presence = new EndpointPresence({ count: () => Promise.resolve(0), keepFeed }, logger);
  expect(presence.hasEndpoints()).toBe(true);
  await presence.firstRead;
  expect(presence.hasEndpoints()).toBe(false);
  await presence.end();
});

it('a worker that cannot read the endpoints takes work, and says that there is one', async () => {
  const presence = new EndpointPresence(
    { count: () => Promise.reject(new Error('Temporal is down')), keepFeed },
    logger,
  );
  await presence.firstRead;
  expect(presence.hasEndpoints()).toBe(true);
  await presence.end();
});
