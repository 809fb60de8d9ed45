import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { restOf } from './provider-call.js';

it('a further call of an activity has only the time that the calls before it left', async () => {
  const { signal } = new AbortController();
  const rest = restOf({ deadlineMs: 40, signal });
  expect(rest().deadlineMs).toBeLessThanOrEqual(40);
  await sleep(20);
  const left = rest();
  expect(left.deadlineMs).toBeLessThanOrEqual(21);
  expect(left.signal).toBe(signal);
  await sleep(40);
  expect(rest().deadlineMs).toBe(1);
});
