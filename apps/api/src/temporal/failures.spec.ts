import { expect, it } from 'vitest';
import { Problem } from '../problems/problem.js';
import { afterWrite } from './failures.js';

it('a read after a write that is refused does not say that the write was not sent', async () => {
  const refused = Promise.reject(new Problem('overloaded', 'busy'));
  await expect(afterWrite(refused)).rejects.toMatchObject({ code: 'temporal_unavailable' });
  const missing = Promise.reject(new Problem('not_found', 'No checkout has this id'));
  await expect(afterWrite(missing)).rejects.toMatchObject({ code: 'not_found' });
  expect(await afterWrite(Promise.resolve(7))).toBe(7);
});
