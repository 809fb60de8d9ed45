import { expect, it } from 'vitest';
import { InFlight } from './in-flight.js';

it('InFlight gives equal requests at the same time one answer, and only one of them runs the work', async () => {
  const asking = new InFlight<object>();
  let works = 0;
  const ask = () =>
    asking.join('a', async () => {
      works += 1;
      return {};
    });
  const answers = await Promise.all([ask(), ask(), ask()]);
  expect(works).toBe(1);
  expect(answers.map(({ first }) => first)).toEqual([true, false, false]);
  expect(new Set(answers.map(({ answer }) => answer)).size).toBe(1);
});

it('InFlight neither delays nor answers other requests and later ones', async () => {
  const asking = new InFlight<number>();
  const held = asking.join('a', () => new Promise(() => {}));
  expect(await asking.join('b', async () => 2)).toEqual({ answer: 2, first: true });
  expect(await asking.join('b', async () => 3)).toEqual({ answer: 3, first: true });
  expect(held).toBeInstanceOf(Promise);
});

it('InFlight passes a failure to all waiting requests, and does not store it', async () => {
  const asking = new InFlight<number>();
  const fail = () => asking.join('a', () => Promise.reject(new Error('down')));
  const results = await Promise.allSettled([fail(), fail()]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await asking.join('a', async () => 1)).toEqual({ answer: 1, first: true });
});
