import type { DeliveryPage } from '@tillflow/temporal';
import type { DeliveryRecord } from '@tillflow/workflows';
import { expect, it } from 'vitest';
import { deliveries, endpoints } from './endpoints.js';

const nothing = (): void => undefined;

it.each([
  [['--url', 'https://orders.example/'], '--url needs --change'],
  [['--add', 'https://orders.example/', '--url', 'https://stock.example/'], '--url needs --change'],
  [['--description', 'orders'], '--description needs --add or --change'],
  [['--enable', 'evep_1', '--events', 'paid'], '--events needs --add or --change'],
  [['--change', 'evep_1'], '--change needs --url, --events or --description'],
  [['--change', 'evep_1', '--events', 'sold'], 'sold is not one of'],
  [['--change', 'evep_1', '--description', 'x'.repeat(201)], '--description has at most 200 characters'],
  [['--limit', '5'], '--limit needs --deliveries'],
  [['--deliveries', 'evep_1', '--limit', '0'], '--limit must be a whole number from 1 to 10000'],
])('the command line refuses %j', async (args, why) => {
  await expect(endpoints.run(args, {}, nothing, nothing)).rejects.toThrow(why);
});

it('the command line lists as many deliveries as it is asked for, over all pages', async () => {
  const asked: [limit: number, place: string | null][] = [];
  const record = (id: number): DeliveryRecord =>
    ({ id: `evt_${id}`, checkout: null, event: 'test', version: 0, at: 0, ms: 1, status: 200, tries: 0 }) as const;
  const all = {
    // A page may have fewer deliveries than it is asked for.
    deliveries: (_: string, limit: number, place: string | null): Promise<DeliveryPage> => {
      asked.push([limit, place]);
      const begin = Number(place ?? 0);
      const data = Array.from({ length: Math.min(limit, 80) }, (_item, index) => record(begin + index));
      return Promise.resolve({ data, next: String(begin + data.length) });
    },
  };
  const report = await deliveries(all, 'evep_1', 150);
  expect(report.lines).toHaveLength(151);
  expect(asked).toEqual([
    [100, null],
    [70, '80'],
  ]);
});
