import { expect, test } from 'vitest';
import { clientOf, eventOf, provider, reply } from '../../test/provider.js';

test('an event is retrieved, with a key and data of which the client knows nothing', async () => {
  const unknown = { key: 'planet.aligned', data: { object: 'planet', id: 'p_1', moons: 2 }, team_uid: 't' };
  const fake = await provider(reply(200, eventOf(unknown)));
  expect(await clientOf(fake).events.retrieve('evnt_test_1')).toMatchObject(unknown);
  expect(fake.seen[0]).toMatchObject({ method: 'GET', url: '/events/evnt_test_1' });
});
