import { expect, it } from 'vitest';
import { KnownEvents } from './known-events.js';

it('knows the latest events, and forgets the oldest beyond its limit', () => {
  const known = new KnownEvents(2);
  for (const id of ['a', 'b', 'c']) known.add(id);
  expect(['a', 'b', 'c'].map((id) => known.has(id))).toEqual([false, true, true]);
});
