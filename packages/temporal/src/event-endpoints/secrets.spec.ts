import { expect, it } from 'vitest';
import { Seal } from '../encryption/seal.js';
import { EndpointSealer, eventLinks } from './secrets.js';

const NOW = 1_790_000_000_000;
const HOUR = 3_600_000;
const seal = new Seal('skey_test_1');
const sealer = new EndpointSealer(seal);
const links = eventLinks('https://pay.example', 'a secret');

it('a replaced secret signs for 24 hours, also when the new one is replaced meanwhile', async () => {
  const first = await sealer.create(links);
  const second = await sealer.rotate(first.sealed, links, NOW);
  const third = await sealer.rotate(second.sealed, links, NOW + HOUR);
  expect(await seal.open(third.sealed)).toMatchObject({
    secrets: [
      { secret: third.secret, until: null },
      { secret: second.secret, until: NOW + 25 * HOUR },
      { secret: first.secret, until: NOW + 24 * HOUR },
    ],
  });
  const last = await sealer.rotate(third.sealed, links, NOW + 24 * HOUR);
  expect(JSON.stringify(await seal.open(last.sealed))).not.toContain(first.secret);
});
