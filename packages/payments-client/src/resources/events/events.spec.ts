import { describe, expect, test } from 'vitest';
import { clientOf, eventOf, provider, reply } from '../../../test/provider.js';
import { listOf } from '../../../test/samples.js';
import { UnreadableRecord } from '../../reply/records.js';

test('retrieve passes on a key and data that the client does not know', async () => {
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

  test('returns an event of another shape as it came, in its place', async () => {
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
    'gives %j an id, the same each time',
    async (bad) => {
      const [first, ...others] = await readAll(bad, bad);
      expect(first).toMatchObject({ id: expect.stringMatching(/^unreadable_[0-9a-f]{16}$/), hasOwnId: false });
      // It came twice, as on a page that shifted.
      expect(others).toEqual([]);
    },
  );

  test.each([[{ object: 'list' }], [{ object: 'list', data: {} }], ['<html>'], [[]]])(
    'fails when the page is not a list: %j',
    async (body) => {
      const fake = await provider(reply(200, body));
      const reading = clientOf(fake).events.iterateTolerant().toArray();
      await expect(reading).rejects.toMatchObject({ code: 'unexpected_response' });
    },
  );
});
