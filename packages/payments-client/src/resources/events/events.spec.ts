import { describe, expect, test } from 'vitest';
import { clientOf, eventOf, provider, reply } from '../../../test/provider.js';
import { listOf } from '../../../test/samples.js';
import { UnreadableRecord } from '../../reply/records.js';

test('an event is retrieved, with a key and data of which the client knows nothing', async () => {
  const unknown = { key: 'planet.aligned', data: { object: 'planet', id: 'p_1', moons: 2 }, team_uid: 't' };
  const fake = await provider(reply(200, eventOf(unknown)));
  expect(await clientOf(fake).events.retrieve('evnt_test_1')).toMatchObject(unknown);
  expect(fake.seen[0]).toMatchObject({ method: 'GET', url: '/events/evnt_test_1' });
});

describe('iterateTolerant', () => {
  const readAll = async (...data: unknown[]) => {
    const fake = await provider(reply(200, listOf(...data)));
    return clientOf(fake).events.iterateTolerant().toArray();
  };

  test('gives what does not fit as it came, in its place, and the others as they are', async () => {
    const bad = eventOf({ id: 'evnt_test_2', key: null });
    const all = await readAll(eventOf(), bad, eventOf({ id: 'evnt_test_3' }));
    expect(all.map(({ id }) => id)).toEqual(['evnt_test_1', 'evnt_test_2', 'evnt_test_3']);
    const [good, unreadable] = all;
    expect(good).toEqual(eventOf());
    expect(unreadable).toBeInstanceOf(UnreadableRecord);
    expect(unreadable).toMatchObject({
      json: bad,
      hasOwnId: true,
      error: { code: 'unexpected_response', outcome: 'unknown', message: expect.stringContaining('key: ') },
    });
  });

  test.each([[null], [7], ['evnt_test_1'], [[]], [{}], [{ id: 7 }], [{ id: '' }]])(
    'gives %j an id of its own, the same each time',
    async (bad) => {
      const [first, ...others] = await readAll(bad, bad);
      expect(first).toMatchObject({ id: expect.stringMatching(/^unreadable_[0-9a-f]{16}$/), hasOwnId: false });
      // Come twice, as on a page that shifted.
      expect(others).toEqual([]);
    },
  );

  test.each([[{ object: 'list' }], [{ object: 'list', data: {} }], ['<html>'], [[]]])(
    'fails where the page is no list: %j',
    async (body) => {
      const fake = await provider(reply(200, body));
      const reading = clientOf(fake).events.iterateTolerant().toArray();
      await expect(reading).rejects.toMatchObject({ code: 'unexpected_response' });
    },
  );
});
