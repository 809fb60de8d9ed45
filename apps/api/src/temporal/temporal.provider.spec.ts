import type { Temporal } from '@tillflow/temporal';
import { expect, it } from 'vitest';
import { TemporalAccess } from './temporal.provider.js';

const connection = { withDeadline: <T>(_deadline: number, work: () => T): T => work() };

it('a read that may show a change does not wait for all reads of quiet streams that came before it', async () => {
  const places = { write: 1, change: 1, read: 1, list: 1, hint: 1, background: 1 };
  const access = new TemporalAccess({ connection } as unknown as Temporal, places);
  const order: string[] = [];
  const read = async (name: string): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    order.push(name);
  };
  const quiet = Array.from({ length: 20 }, () => access.whileQuiet('read', 10_000, () => read('quiet')));
  await Promise.all([...quiet, access.inBackground('read', 10_000, () => read('expected'))]);
  expect(order.indexOf('expected')).toBeLessThanOrEqual(2);
  expect(order).toHaveLength(21);
});
