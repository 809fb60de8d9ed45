import {
  NotFoundError,
  ServerError,
  UnexpectedResponseError,
  UnreadableRecord,
  type Event,
} from '@tillflow/payments-client';
import { describe, expect, it } from 'vitest';
import { HandledEvents, type CheckoutEvent } from './checkout-events.js';
import type { Delivered } from './delivery.js';
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
  readonly listed: readonly (Event | UnreadableRecord)[];
  /** What the provider does after the last of them. */
  readonly atLast?: () => never;
  readonly deliver?: (event: CheckoutEvent) => Delivered;
  readonly begun?: Progress;
  readonly handled?: HandledEvents;
  readonly remembered?: readonly string[];
  readonly again?: boolean;
  readonly watermark?: string;
  /** Of every plan, or why they are not shown. */
  readonly occurrences?: readonly object[] | Error;
  /** An event that is read by its id, or why it is not. */
  readonly retrieved?: Event | Error;
};

/** A pass over events that no sandbox lists: with dates of the future, or ending in the middle of a list. */
function passOver({
  listed,
  atLast,
  deliver = () => ({ as: 'hinted' }),
  begun,
  handled = new HandledEvents(1_000),
  remembered = [],
  again = false,
  watermark = WATERMARK,
  occurrences = [],
  retrieved = new NotFoundError('no such event', { code: 'not_found' } as never),
}: World) {
  const delivered: string[] = [];
  const asked: unknown[] = [];
  async function* iterate(params: unknown) {
    asked.push(params);
    yield* listed;
    atLast?.();
  }
  const answer = <T>(given: T | Error): T => {
    if (given instanceof Error) throw given;
    return given;
  };
  const listOccurrences = async (plan: string) => {
    delivered.push(plan);
    return { data: answer(occurrences) };
  };
  const retrieve = async () => answer(retrieved);
  const pass = new Pass(
    {
      account: 'default',
      provider: { events: { iterateTolerant: iterate, retrieve }, schedules: { listOccurrences } } as never,
      checkouts: { findByCharges: async () => new Map() } as never,
      delivery: {
        deliver: async (event: CheckoutEvent) => {
          const as = deliver(event);
          delivered.push(event.id);
          return as;
        },
      } as never,
      handled,
      remembered: new Set(remembered),
      again,
      overlapMs: 60_000,
      signal: new AbortController().signal,
    },
    watermark,
    begun ?? null,
  );
  return { pass, delivered, asked };
}

const stop = (): never => {
  throw new Error('no answer');
};

describe('a pass', () => {
  it('never reads from before 1970, whatever the watermark', async () => {
    const { pass, asked } = passOver({ listed: [], begun: { watermark: '0001-01-01T00:00:00.000Z' } });
    await pass.run([]);
    expect(asked).toMatchObject([{ from: '1970-01-01T00:00:00.000Z' }]);
  });

  it('reads from before the watermark, and moves it to the newest event', async () => {
    const { pass, delivered, asked } = passOver({ listed: events(3) });
    await pass.run([]);
    expect(asked).toEqual([{ from: at(-60), to: '9999-01-01T00:00:00.000Z', order: 'chronological' }]);
    expect(delivered).toEqual(['evnt_1', 'evnt_2', 'evnt_3']);
    expect(pass.progress).toEqual({
      watermark: at(3),
      counts: { read: 3, hinted: 3, reopened: 0, unplaced: 0 },
    });
  });

  it('delivers an event whose id it handled with another time: the provider was reset', async () => {
    const handled = new HandledEvents(10);
    const before = passOver({ listed: [event(1)], handled });
    await before.pass.run([]);
    const after = passOver({ listed: [event(1), event(1, { created_at: at(50) })], handled });
    await after.pass.run([]);
    expect(after.delivered).toEqual(['evnt_1']);
    expect(after.pass.progress.watermark).toBe(at(50));
  });

  it('reports only the watermark when there is no event', async () => {
    const { pass } = passOver({ listed: [] });
    await pass.run([]);
    expect(pass.progress).toEqual({ watermark: WATERMARK });
  });

  it('does not move the watermark past an event that was read but not delivered', async () => {
    const { pass, delivered } = passOver({ listed: events(150), atLast: stop });
    await expect(pass.run([])).rejects.toThrow('no answer');
    expect(delivered).toHaveLength(100);
    expect(pass.progress.watermark).toBe(at(100));
  });

  it('does not move the watermark, and handles no event, when a delivery fails', async () => {
    const handled = new HandledEvents(1_000);
    const { pass } = passOver({ listed: events(2), handled, deliver: ({ id }) => (id === 'evnt_2' ? stop() : HINTED) });
    await expect(pass.run([])).rejects.toThrow('no answer');
    expect(pass.progress.watermark).toBe(WATERMARK);
    const next = passOver({ listed: events(2), handled });
    await next.pass.run([]);
    expect(next.delivered).toEqual(['evnt_1', 'evnt_2']);
  });

  it('does not move the watermark to a time in the future, or without a time', async () => {
    const future = { created_at: '2999-01-01T00:00:00Z' };
    const { pass } = passOver({ listed: [event(1), event(2, future), event(3, { created_at: null })] });
    await pass.run([]);
    // Not to now: the next event may have an earlier time by this machine's clock.
    expect(pass.progress.watermark).toBe(at(1));
    const undated = passOver({ listed: [event(1, { created_at: null })] });
    await undated.pass.run([]);
    expect(undated.pass.progress.watermark).toBe(WATERMARK);
  });

  it('continues from an earlier try, with its unplaced events', async () => {
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

  it('delivers a handled event once, and the events of one charge together', async () => {
    const handled = new HandledEvents(1_000);
    const same = { data: event(1).data };
    const listed = [event(1), event(2, { ...same, key: 'charge.update' }), event(3, same), event(4)];
    const also: string[] = [];
    const deliver = (event: CheckoutEvent): Delivered => {
      also.push(...event.also.map(({ key }) => key));
      return HINTED;
    };
    const { pass, delivered } = passOver({ listed, handled, deliver });
    await pass.run([]);
    expect(delivered.toSorted()).toEqual(['evnt_2', 'evnt_4']);
    expect(also).toEqual(['charge.complete', 'charge.complete']);
    const next = passOver({ listed, handled });
    await next.pass.run([]);
    expect(next.delivered).toEqual([]);
  });

  it('does not deliver an unplaced event again that a retry has delivered', async () => {
    const handled = new HandledEvents(1_000);
    const { pass, delivered } = passOver({ listed: events(2), handled, remembered: ['evnt_1'] });
    await pass.run([{ ...unplaced('evnt_1'), created_at: at(1) }]);
    expect(delivered).toEqual(['evnt_1', 'evnt_2']);
    const next = passOver({ listed: events(2), handled });
    await next.pass.run([]);
    expect(next.delivered).toEqual([]);
  });

  it('returns no more unplaced events and notices than the tail stores', async () => {
    const listed = Array.from({ length: 120 }, (_, index) =>
      event(1_000 + index, { key: 'dispute.create', data: { object: 'dispute', id: `dspt_${index}` } }),
    );
    const lost = (event: CheckoutEvent): Delivered => ({ as: 'unplaced', event: unplaced(event.id), notice: null });
    const { pass } = passOver({ listed: [...listed, ...events(120)], deliver: lost });
    await pass.run([]);
    expect(pass.progress.counts?.unplaced).toBe(120);
    expect(pass.progress.unplaced?.map(({ event_id }) => event_id)).toHaveLength(50);
    expect(pass.progress.notices?.at(-1)?.subject).toBe('dspt_119');
    expect(pass.progress.notices).toHaveLength(50);
  });

  it('returns notices and unplaced events again until the tail has stored them', async () => {
    const handled = new HandledEvents(1_000);
    const dispute = event(1, { key: 'dispute.create', data: { object: 'dispute', id: 'dspt_1' } });
    const deliver = ({ id }: CheckoutEvent): Delivered =>
      id === 'evnt_2' ? { as: 'unplaced', event: unplaced(id), notice: null } : HINTED;
    const world = { listed: [dispute, event(2), event(3)], handled, deliver };
    const lost = passOver(world);
    await lost.pass.run([]);
    expect(lost.delivered).toEqual(['evnt_2', 'evnt_3']);
    const second = passOver(world);
    await second.pass.run([]);
    expect(second.delivered).toEqual(['evnt_2']);
    expect(second.pass.progress).toMatchObject({
      notices: [{ subject: 'dspt_1' }],
      unplaced: [{ event_id: 'evnt_2' }],
    });
    const third = passOver({ ...world, remembered: ['evnt_1', 'evnt_2'] });
    await third.pass.run([]);
    expect(third.delivered).toEqual([]);
    expect(third.pass.progress).toEqual({
      watermark: at(3),
      counts: { read: 3, hinted: 0, reopened: 0, unplaced: 0 },
    });
  });

  it('delivers handled and stored events again when an operator asks for it', async () => {
    const world = { listed: events(3), handled: new HandledEvents(1_000), remembered: ['evnt_2'] };
    await passOver(world).pass.run([]);
    const again = passOver({ ...world, again: true });
    await again.pass.run([]);
    expect(again.delivered).toEqual(['evnt_1', 'evnt_2', 'evnt_3']);
  });

  it('reads from 1970 when it is to start before any event', async () => {
    const { pass, asked } = passOver({ listed: [], watermark: '0001-01-01T00:00:00.000Z' });
    await pass.run([]);
    expect(asked).toMatchObject([{ from: '1970-01-01T00:00:00.000Z' }]);
  });

  it('goes on after an unreadable event: it gives a notice, and delivers or stores it', async () => {
    const { data } = event(1);
    const listed = [
      unreadable({ object: 'event', id: 'evnt_1', key: null, created_at: at(1), data }),
      unreadable({ id: 'evnt_2', key: 'customer.update', created_at: at(2), data: { id: 7 } }),
      unreadable(null),
      event(4),
    ];
    const { pass, delivered } = passOver({ listed });
    await pass.run([]);
    expect(delivered).toEqual(['evnt_1', 'evnt_4']);
    const { watermark, counts, unplaced: left, notices } = pass.progress;
    expect({ watermark, counts }).toEqual({
      watermark: at(4),
      counts: { read: 4, hinted: 2, reopened: 0, unplaced: 1 },
    });
    expect(left).toMatchObject([{ event_id: 'evnt_2', event_key: 'customer.update', tries: 1, checkout_id: null }]);
    expect(notices).toMatchObject([
      { code: 'event_unreadable', event_id: 'evnt_1', since: at(1), checkout_id: 'chk_default_1', charge_id: 'chrg_1' },
      { code: 'event_unreadable', event_id: 'evnt_2', since: at(2) },
      { code: 'event_unreadable', event_id: expect.stringMatching(/^unreadable_/) },
    ]);
  });

  it('reads an unreadable event again, and handles it once it is readable', async () => {
    const before = { ...unplaced('evnt_7'), checkout_id: null, charge_id: null };
    const cannot = passOver({ listed: [], retrieved: misfit });
    await cannot.pass.run([before]);
    expect(cannot.pass.progress).toMatchObject({ unplaced: [{ event_id: 'evnt_7', tries: 2, since: before.since }] });
    expect(cannot.pass.progress).not.toHaveProperty('settled');
    const can = passOver({ listed: [], retrieved: event(7) });
    await can.pass.run([before]);
    expect(can.delivered).toEqual(['evnt_7']);
    expect(can.pass.progress).toMatchObject({ settled: ['evnt_7'], counts: { hinted: 1 } });
    expect(can.pass.progress).not.toHaveProperty('unplaced');
  });

  it('reads plans after the payments, and again when the provider did not answer', async () => {
    const data = { object: 'schedule', id: 'schd_1' };
    const listed = [event(1, { key: 'schedule.expiring', data }), event(2)];
    const down = new ServerError('no answer', { code: 'http_503', outcome: 'unknown' } as never);
    const { pass, delivered } = passOver({ listed, occurrences: down });
    await pass.run([]);
    expect(delivered).toEqual(['evnt_2', 'schd_1']);
    expect(pass.progress.unplaced).toMatchObject([
      { event_id: 'evnt_1', subject: 'schd_1', why: 'http_503: no answer' },
    ]);
    const failed = { object: 'occurrence', id: 'occu_1', status: 'failed', processed_at: at(1) };
    const [retrieved] = listed;
    const later = passOver({ listed: [], occurrences: [failed], ...(retrieved === undefined ? {} : { retrieved }) });
    await later.pass.run(pass.progress.unplaced ?? []);
    expect(later.pass.progress).toMatchObject({
      notices: [{ code: 'plan_occurrence_failed', plan_id: 'schd_1' }],
      settled: ['evnt_1'],
    });
    const odd = passOver({ listed, occurrences: [null as never] });
    await odd.pass.run([]);
    expect(odd.pass.progress).toMatchObject({
      watermark: at(2),
      unplaced: [{ subject: 'schd_1', why: expect.stringContaining('TypeError') }],
    });
    const gone = passOver({ listed, occurrences: new NotFoundError('gone', { code: 'not_found' } as never) });
    await gone.pass.run([]);
    expect(gone.pass.progress).not.toHaveProperty('unplaced');
  });

  it('ignores events that change no checkout', async () => {
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

const misfit = new UnexpectedResponseError('GET /events: a record does not have the documented shape.', {
  code: 'unexpected_response',
  outcome: 'unknown',
  retryable: false,
});
const unreadable = (json: unknown): UnreadableRecord => new UnreadableRecord(json, misfit);

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
