import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { api, checkoutOf, json, lost, other, problem, silent, type Reply, type Seen } from '../test/api.js';
import { NotPaidError, type TillflowError } from './errors.js';
import type { Checkout } from './types.js';

const ID = checkoutOf().id;
const PREFACE = 'retry: 2000\n\n';

const state = (version: number, fields: Partial<Checkout> = {}): Checkout => checkoutOf({ version, ...fields });
const read = (version: number, fields?: Partial<Checkout>): Reply => json(200, state(version, fields));
const event = (version: number, fields?: Partial<Checkout>): string =>
  `id: ${version}\nevent: checkout\ndata: ${JSON.stringify(state(version, fields))}\n\n`;

/** An event stream of these texts, each in a chunk of its own. It ends as `last` says. */
function stream(chunks: readonly string[], last: (response: ServerResponse) => unknown = () => {}): Reply {
  const send = async (response: ServerResponse): Promise<void> => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const chunk of chunks) {
      response.write(chunk);
      // Two chunks that are written together would arrive together.
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    last(response);
  };
  return (response) => void send(response);
}
const endsWell = (response: ServerResponse): unknown => response.end();
const breaks = (response: ServerResponse): unknown => response.destroy();
const noContent: Reply = (response) => void response.writeHead(204).end();
/** The checkout has closed with this version: it has no stream, and no link to one. */
const closed = (version: number): Reply => {
  const last = read(version, { events_url: null });
  return (response, request) => (request.path.endsWith('/events') ? noContent : last)(response, request);
};

/** The versions that a watch shows until it ends. */
async function versionsOf(states: AsyncIterable<Checkout>): Promise<number[]> {
  const versions: number[] = [];
  for await (const { version } of states) versions.push(version);
  return versions;
}

const lastEventIds = (seen: readonly Seen[]): unknown[] =>
  seen.flatMap(({ headers }) => headers['last-event-id'] ?? []);
const kindsOf = (seen: readonly Seen[]): string[] =>
  seen.map(({ path }) => (path.endsWith('/events') ? 'stream' : path.includes('wait=') ? 'waiting read' : 'read'));

describe('a watch', () => {
  test('shows the present state and each newer one, and ends when the checkout has closed', async () => {
    const { tillflow, seen } = await api(read(2), stream([PREFACE, event(3), event(4)], endsWell), read(5), closed(5));
    expect(await versionsOf(tillflow().checkouts.watch(ID))).toEqual([2, 3, 4, 5]);
    expect(kindsOf(seen)).toEqual(['read', 'stream', 'waiting read', 'stream', 'read']);
    expect(seen[2]?.path).toContain('after_version=4');
    expect(lastEventIds(seen)).toEqual(['2', '5']);
  });

  test('never shows a state that is not newer than all before', async () => {
    const events = [event(4), event(3), event(4), event(6), event(5)];
    const { tillflow } = await api(
      read(3),
      stream(events, endsWell),
      read(7),
      stream([event(6), event(7)], endsWell),
      read(8),
      closed(8),
    );
    expect(await versionsOf(tillflow().checkouts.watch(ID))).toEqual([3, 4, 6, 7, 8]);
  });

  test('shows the newest of states that arrive together', async () => {
    const { tillflow } = await api(read(1), stream([event(2) + event(3) + event(4)], endsWell), read(5), closed(5));
    expect(await versionsOf(tillflow().checkouts.watch(ID))).toEqual([1, 4, 5]);
  });

  test('reads events that arrive in pieces, with comments, unknown fields and other events between them', async () => {
    const text = `: still here\r\n\r\nfoo: bar\nevent: other\ndata: {}\n\n${event(2).replaceAll('\n', '\r\n')}${event(3)}`;
    const pieces = Array.from({ length: 8 }, (_, index) =>
      text.slice((index * text.length) / 8, ((index + 1) * text.length) / 8),
    );
    const { tillflow } = await api(read(1), stream(pieces, endsWell), read(4), closed(4));
    expect(await versionsOf(tillflow().checkouts.watch(ID))).toEqual([1, 2, 3, 4]);
  });

  test.each<readonly [string, Reply]>([
    ['breaks in the middle of an event', stream([event(2), event(9).slice(0, 60)], breaks)],
    ['ends in the middle of an event', stream([event(2), event(9).slice(0, 60)], endsWell)],
    ['brings something that is not a checkout', stream([event(2), 'event: checkout\ndata: <html>\n\n'])],
    ['brings a state and something else at once', stream([`${event(2)}event: checkout\ndata: <html>\n\n`])],
  ])('continues after a stream that %s', async (_, broken) => {
    const { tillflow } = await api(read(1), broken, read(3), closed(3));
    expect(await versionsOf(tillflow().checkouts.watch(ID))).toEqual([1, 2, 3]);
  });

  test.each<readonly [string, Reply]>([
    ['is refused', problem(503, 'too_many_streams')],
    ['does not open', lost],
    ['is answered by another program', other(502, '<h1>Bad Gateway</h1>')],
  ])('reads the checkout where the stream %s, and tries the stream less and less often', async (_, refused) => {
    const replies = [read(1), refused, read(2), read(3), refused, read(4), read(5), read(6), read(7), closed(7)];
    const { tillflow, seen } = await api(...replies);
    expect(await versionsOf(tillflow().checkouts.watch(ID))).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(kindsOf(seen).join(' ')).toBe(
      [
        'read',
        'stream',
        ...Array<string>(2).fill('waiting read'),
        'stream',
        ...Array<string>(4).fill('waiting read'),
        'stream',
        'read',
      ].join(' '),
    );
  });

  test('reads without waiting after a waiting read that failed', async () => {
    const { tillflow, seen } = await api(read(1), stream([PREFACE], breaks), lost, read(2), closed(2));
    const shown: number[] = [];
    for await (const { version } of tillflow().checkouts.watch(ID)) shown.push(version);
    expect(shown).toEqual([1, 2]);
    expect(kindsOf(seen)).toEqual(['read', 'stream', 'waiting read', 'read', 'stream', 'read']);
  });

  test('does not end while the API fails', async () => {
    const failing = [lost, problem(503, 'temporal_unavailable', { 'retry-after': '0' }), other(404, 'default backend')];
    const { tillflow } = await api(lost, read(1), stream([PREFACE], breaks), ...failing, read(2), closed(2));
    expect(await versionsOf(tillflow({ patienceMs: 0 }).checkouts.watch(ID))).toEqual([1, 2]);
  });

  test.each([
    ['not_found', 404],
    ['unauthorized', 401],
    ['forbidden', 403],
  ])('ends with %s when the API refuses it', async (code, status) => {
    const { tillflow } = await api(problem(status, code));
    await expect(versionsOf(tillflow().checkouts.watch(ID))).rejects.toMatchObject({ code, money: 'unknown' });
    const later = await api(read(1), stream([], breaks), problem(status, code));
    const checkout = state(1);
    await expect(versionsOf(later.tillflow().checkouts.watch(ID))).rejects.toMatchObject({ code, checkout });
  });

  test.each<readonly [string, Reply]>([
    ['still has a stream', read(2)],
    ['cannot be read', noContent],
  ])('goes on after a 204 of a proxy, where the checkout %s', async (_, confirmed) => {
    const { tillflow } = await api(read(1), noContent, confirmed, read(3), read(4), closed(5));
    expect((await versionsOf(tillflow().checkouts.watch(ID))).slice(-2)).toEqual([4, 5]);
  });

  test('of something else than Tillflow ends at once', async () => {
    const { tillflow } = await api(other(404, '<h1>No such page</h1>'));
    await expect(versionsOf(tillflow().checkouts.watch(ID))).rejects.toMatchObject({ code: 'unexpected_answer' });
  });

  test('closes its stream when the loop is left', async () => {
    let close = (): void => {};
    const isClosed = new Promise<void>((resolve) => (close = resolve));
    const { tillflow } = await api(read(1), (response, request) => {
      response.once('close', close);
      stream([event(2)])(response, request);
    });
    for await (const { version } of tillflow().checkouts.watch(ID)) if (version === 2) break;
    await expect(isClosed).resolves.toBeUndefined();
  });

  test('that is aborted closes its stream and says what it has seen', async () => {
    let close = (): void => {};
    const isClosed = new Promise<void>((resolve) => (close = resolve));
    const { tillflow } = await api(read(1), (response, request) => {
      response.once('close', close);
      stream([event(2)])(response, request);
    });
    const abort = new AbortController();
    const watching = (async () => {
      for await (const { version } of tillflow().checkouts.watch(ID, { signal: abort.signal }))
        if (version === 2) abort.abort();
    })();
    await expect(watching).rejects.toMatchObject({ code: 'aborted', money: 'unknown', checkout: state(2) });
    await isClosed;
  });
});

describe('a watch whose stream brings nothing', () => {
  // Only the clocks of the watch: the network keeps its own.
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'performance', 'setInterval', 'clearInterval'] }));
  afterEach(() => void vi.useRealTimers());

  /** Watches a checkout whose first stream stays open. `during` runs when the watch reads that stream. */
  async function watching(first: Reply, during: () => void) {
    let arrived = (): void => {};
    const hasArrived = new Promise<void>((resolve) => (arrived = resolve));
    const held: Reply = (response, request) => {
      first(response, request);
      arrived();
    };
    const { tillflow, seen } = await api(read(1), held, read(2), read(3), closed(3));
    const versions = versionsOf(tillflow().checkouts.watch(ID));
    await hasArrived;
    // The bytes before are on their way.
    await new Promise((resolve) => setTimeout(resolve, 50));
    during();
    return { versions: await versions, kinds: kindsOf(seen) };
  }

  test.each([
    ['at its begin for 5 s is held back by a proxy', silent, () => vi.advanceTimersByTime(7_000)],
    ['after its begin for 25 s is held back by a proxy', stream([PREFACE]), () => vi.advanceTimersByTime(27_000)],
    [
      'because the computer slept is dead',
      stream([PREFACE]),
      () => {
        vi.setSystemTime(Date.now() + 3_600_000);
        vi.advanceTimersByTime(1_500);
      },
    ],
  ])('%s: it reads the checkout', async (_, first, during) => {
    const { versions, kinds } = await watching(first, during);
    expect(versions).toEqual([1, 2, 3]);
    expect(kinds).toEqual(['read', 'stream', 'waiting read', 'waiting read', 'stream', 'read']);
  });
});

describe('a watch whose loop takes its time', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'performance', 'setInterval', 'clearInterval'] }));
  afterEach(() => void vi.useRealTimers());

  test('keeps its stream', async () => {
    let send: (text: string) => void = () => {};
    const { tillflow, seen } = await api(read(1), (response, request) => {
      stream([event(2)])(response, request);
      send = (text) => void response.write(text);
    });
    const shown: number[] = [];
    for await (const { version } of tillflow().checkouts.watch(ID)) {
      shown.push(version);
      vi.advanceTimersByTime(120_000);
      if (version === 2) send(event(3));
      if (version === 3) break;
    }
    expect(shown).toEqual([1, 2, 3]);
    expect(kindsOf(seen)).toEqual(['read', 'stream']);
  });
});

describe('untilPaid', () => {
  test.each(['paid', 'partially_refunded'] as const)('returns the checkout when it is %s', async (status) => {
    const { tillflow } = await api(read(1, { status: 'creating' }), stream([event(2), event(3, { status })]));
    expect(await tillflow().checkouts.untilPaid(ID)).toEqual(state(3, { status }));
  });

  test.each([
    ['failed', 'not_moved'],
    ['expired', 'not_moved'],
    ['cancelled', 'not_moved'],
    ['refunded', 'returned'],
    ['a_status_of_a_newer_api', 'unknown'],
  ])('throws when the checkout is %s, with the checkout', async (status, money) => {
    const ended = state(2, { status: status as Checkout['status'], qr: null });
    const { tillflow } = await api(json(200, ended));
    const error: unknown = await tillflow()
      .checkouts.untilPaid(ID)
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(NotPaidError);
    expect(error).toMatchObject({ code: `checkout_${status}`, money, checkout: ended });
  });

  test.each(['failed', 'expired', 'cancelled'] as const)(
    'says of a %s checkout whether a late payment is being returned',
    async (status) => {
      const messageOf = async (paid_at: string | null): Promise<string> => {
        const { tillflow } = await api(read(2, { status, qr: null, paid_at }));
        const error = await tillflow()
          .checkouts.untilPaid(ID)
          .catch((reason: unknown) => reason as TillflowError);
        expect(error).toMatchObject({ money: paid_at === null ? 'not_moved' : 'unknown' });
        return (error as TillflowError).message;
      };
      expect(await messageOf(null)).toBe(
        `checkout_${status}: The checkout ${ID} is ${status}. ` +
          'Not paid. Tillflow returns a payment that comes later, unless the operator keeps late payments.',
      );
      expect(await messageOf('2026-11-21T05:31:02.310Z')).toContain('is being returned');
    },
  );

  test('that is aborted does not say that the customer has not paid', async () => {
    const { tillflow } = await api(read(2), stream([PREFACE]));
    const error = await tillflow()
      .checkouts.untilPaid(ID, { signal: AbortSignal.timeout(100) })
      .catch((reason: unknown) => reason as TillflowError);
    expect(error).toMatchObject({ code: 'aborted', money: 'unknown', checkout: { status: 'awaiting_payment' } });
  });

  test('of a checkout that closes without an end has an unknown outcome', async () => {
    const { tillflow } = await api(read(2), closed(2));
    await expect(tillflow().checkouts.untilPaid(ID)).rejects.toMatchObject({
      code: 'watch_ended',
      money: 'unknown',
      checkout: { version: 2 },
    });
  });
});
