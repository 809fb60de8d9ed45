import { expect, it } from 'vitest';
import { InFlight } from './in-flight.js';

it('those who ask the same at once get one answer, and one of them brought it about', async () => {
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

it('others, and those who ask later, are not held up or answered by it', async () => {
  const asking = new InFlight<number>();
  const held = asking.join('a', () => new Promise(() => {}));
  expect(await asking.join('b', async () => 2)).toEqual({ answer: 2, first: true });
  expect(await asking.join('b', async () => 3)).toEqual({ answer: 3, first: true });
  expect(held).toBeInstanceOf(Promise);
});

it('a failure is told to all of them, and forgotten', async () => {
  const asking = new InFlight<number>();
  const fail = () => asking.join('a', () => Promise.reject(new Error('down')));
  const results = await Promise.allSettled([fail(), fail()]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await asking.join('a', async () => 1)).toEqual({ answer: 1, first: true });
});
