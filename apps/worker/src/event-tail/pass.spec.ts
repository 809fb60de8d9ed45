import type { Event } from '@tillflow/payments-client';
import { describe, expect, it } from 'vitest';
import type { Delivered, News } from './delivery.js';
import { KnownEvents } from './known-events.js';
import { Pass, type Progress } from './pass.js';

const WATERMARK = '2020-03-10T09:00:00.000Z';
const at = (second: number): string => new Date(Date.parse(WATERMARK) + second * 1_000).toISOString();

const event = (number: number, more: Partial<Event> = {}): Event => ({
  object: 'event',
  id: `evnt_${number}`,
  key: 'charge.complete',
  created_at: at(number),
  data: { object: 'charge', id: `chrg_${number}`, metadata: { checkout: `chk_default_${number}` } },
  ...more,
});
const events = (count: number): Event[] => Array.from({ length: count }, (_, index) => event(index + 1));

type World = {
  readonly listed: readonly Event[];
  /** What the provider does after the last of them. */
  readonly atLast?: () => never;
  readonly deliver?: (news: News) => Delivered;
  readonly begun?: Progress;
  readonly known?: KnownEvents;
};

/** A pass over events that no sandbox lists: with dates of the future, or ending in the middle of a list. */
function passOver({
  listed,
  atLast,
  deliver = () => ({ as: 'hinted' }),
  begun,
  known = new KnownEvents(1_000),
}: World) {
  const delivered: string[] = [];
  const asked: unknown[] = [];
  async function* iterate(params: unknown) {
    asked.push(params);
    yield* listed;
    atLast?.();
  }
  const pass = new Pass(
    {
      provider: { events: { iterate } } as never,
      checkouts: { findByCharges: async () => new Map() } as never,
      delivery: {
        deliver: async (news: News) => {
          const as = deliver(news);
          delivered.push(news.id);
          return as;
        },
      } as never,
      known,
      overlapMs: 60_000,
      signal: new AbortController().signal,
    },
    WATERMARK,
    begun ?? null,
  );
  return { pass, delivered, asked };
}

const stop = (): never => {
  throw new Error('no answer');
};

describe('a pass', () => {
  it('reads from a while before the watermark, and moves it to the newest event', async () => {
    const { pass, delivered, asked } = passOver({ listed: events(3) });
    await pass.run([]);
    expect(asked).toEqual([{ from: at(-60), to: '9999-01-01T00:00:00.000Z', order: 'chronological' }]);
    expect(delivered).toEqual(['evnt_1', 'evnt_2', 'evnt_3']);
    expect(pass.progress).toEqual({
      watermark: at(3),
      counts: { read: 3, hinted: 3, reopened: 0, unplaced: 0 },
    });
  });

  it('says nothing but the watermark when there is nothing', async () => {
    const { pass } = passOver({ listed: [] });
    await pass.run([]);
    expect(pass.progress).toEqual({ watermark: WATERMARK });
  });

  it('moves the watermark past no event that was only read', async () => {
    const { pass, delivered } = passOver({ listed: events(150), atLast: stop });
    await expect(pass.run([])).rejects.toThrow('no answer');
    expect(delivered).toHaveLength(100);
    expect(pass.progress.watermark).toBe(at(100));
  });

  it('moves it past nothing, and knows nothing, when a delivery fails', async () => {
    const known = new KnownEvents(1_000);
    const { pass } = passOver({ listed: events(2), known, deliver: ({ id }) => (id === 'evnt_2' ? stop() : HINTED) });
    await expect(pass.run([])).rejects.toThrow('no answer');
    expect(pass.progress.watermark).toBe(WATERMARK);
    const next = passOver({ listed: events(2), known });
    await next.pass.run([]);
    expect(next.delivered).toEqual(['evnt_1', 'evnt_2']);
  });

  it('is not led past anything by a date of the future, or by none', async () => {
    const future = { created_at: '2999-01-01T00:00:00Z' };
    const { pass } = passOver({ listed: [event(1), event(2, future), event(3, { created_at: null })] });
    const before = new Date().toISOString();
    await pass.run([]);
    expect(pass.progress.watermark >= before).toBe(true);
    expect(pass.progress.watermark <= new Date().toISOString()).toBe(true);
    const undated = passOver({ listed: [event(1, { created_at: null })] });
    await undated.pass.run([]);
    expect(undated.pass.progress.watermark).toBe(WATERMARK);
  });

  it('goes on where an earlier try of it came to, with what that one could not place', async () => {
    const begun = {
      watermark: at(100),
      counts: { read: 100, hinted: 99, reopened: 0, unplaced: 1 },
      settled: ['evnt_0'],
    };
    const { pass, asked, delivered } = passOver({ listed: [event(101)], begun });
    await pass.run([unplaced('evnt_0'), unplaced('evnt_7')]);
    expect(asked).toMatchObject([{ from: at(40) }]);
    expect(delivered).toEqual(['evnt_7', 'evnt_101']);
    expect(pass.progress).toMatchObject({ watermark: at(101), counts: { read: 101 }, settled: ['evnt_0', 'evnt_7'] });
  });

  it('delivers once what it knows, and the news of one charge as one', async () => {
    const known = new KnownEvents(1_000);
    const same = { data: event(1).data };
    const listed = [event(1), event(2, { ...same, key: 'charge.update' }), event(3, same), event(4)];
    const also: string[] = [];
    const deliver = (news: News): Delivered => {
      also.push(...news.also.map(({ key }) => key));
      return HINTED;
    };
    const { pass, delivered } = passOver({ listed, known, deliver });
    await pass.run([]);
    expect(delivered.toSorted()).toEqual(['evnt_2', 'evnt_4']);
    expect(also).toEqual(['charge.complete', 'charge.complete']);
    const next = passOver({ listed, known });
    await next.pass.run([]);
    expect(next.delivered).toEqual([]);
  });

  it('brings back no more than the tail keeps, however much there is', async () => {
    const listed = Array.from({ length: 120 }, (_, index) =>
      event(1_000 + index, { key: 'dispute.create', data: { object: 'dispute', id: `dspt_${index}` } }),
    );
    const lost = (news: News): Delivered => ({ as: 'unplaced', event: unplaced(news.id), notice: null });
    const { pass } = passOver({ listed: [...listed, ...events(120)], deliver: lost });
    await pass.run([]);
    expect(pass.progress.counts?.unplaced).toBe(120);
    expect(pass.progress.unplaced?.map(({ event_id }) => event_id)).toHaveLength(50);
    expect(pass.progress.notices?.at(-1)?.subject).toBe('dspt_119');
    expect(pass.progress.notices).toHaveLength(50);
  });

  it('leaves out what is no news of ours', async () => {
    const listed = [
      event(1, { key: 'charge.create' }),
      event(2, { data: { object: 'customer', id: 'cust_1' } }),
      event(3, { data: { object: 'charge', id: 'chrg_3', metadata: { checkout: 'chk_other_3' } } }),
    ];
    const { pass, delivered } = passOver({ listed });
    await pass.run([]);
    expect(delivered).toEqual([]);
    expect(pass.progress.watermark).toBe(at(3));
  });
});

const HINTED: Delivered = { as: 'hinted' };

const unplaced = (id: string) => ({
  event_id: id,
  event_key: 'charge.complete',
  subject: `chrg_${id}`,
  checkout_id: `chk_default_${id}`,
  charge_id: `chrg_${id}`,
  since: WATERMARK,
  retry_at: WATERMARK,
  tries: 1,
  why: 'no answer',
});
