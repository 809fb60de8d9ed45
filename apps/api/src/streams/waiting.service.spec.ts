import 'reflect-metadata';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { initialState } from '@tillflow/workflows';
import { sampleIntent } from '@tillflow/workflows/testing';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { StoredCheckout, TillSession } from '@tillflow/temporal';
import { SignedLinks } from '../auth/signed-links.js';
import { Signatures } from '../auth/signatures.js';
import { CheckoutChanges } from '../checkouts/checkout-changes.js';
import type { CheckoutsRepository } from '../checkouts/checkouts.repository.js';
import type { CheckoutReply, ReadCheckout } from '../checkouts/checkouts.schema.js';
import { CheckoutPresenter } from '../checkouts/presenter.js';
import type { OpenLinks } from '../counter/open-links.js';
import { Problem } from '../problems/problem.js';
import { Settings } from '../providers.js';
import type { ApiSettings } from '../settings.js';
import { budgetOf, withBudget } from '../temporal/request-budget.js';
import { WaitingService } from './waiting.service.js';
import { Watches } from '../checkouts/watches.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const ID = 'chk_default_a';
const intent = sampleIntent();
const settled = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);
const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

/** What the request has got so far: null while it waits. */
type Asked = { answer: { version: number } | { code: string } | null };

/** The service on a checkout that the test changes, without Temporal. */
function service(limit = 1_000) {
  const stored: { version: number; closed: boolean; failure: 'not_found' | 'temporal_unavailable' | null } = {
    version: 1,
    closed: false,
    failure: null,
  };
  const read = async (): Promise<StoredCheckout> => {
    const { version, closed, failure } = stored;
    if (failure !== null) throw new Problem(failure, 'as the test says');
    return { intent, state: initialState(intent), requestNonce: '', timeline: [], refunds: [], version, closed };
  };
  const get = vi.fn<() => Promise<StoredCheckout>>(read);
  const reads = vi.fn<() => Promise<StoredCheckout>>(read);
  const settings = new Settings({
    STREAM_POLL_MS: 5_000,
    WAIT_LIMIT: limit,
    URL_SIGNING_KEY: ['signs the links of tests and nothing else'],
    PUBLIC_URL: 'http://pay.example',
  } as unknown as ApiSettings);
  const showsNothing = { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) };
  const repository = { get, getInBackground: reads, follow: () => showsNothing } as unknown as CheckoutsRepository;
  const changes = new CheckoutChanges();
  const watches = new Watches(repository, settings, pino({ enabled: false }), changes);
  const presenter = new CheckoutPresenter(new SignedLinks(new Signatures(settings), settings));
  /** Ends the sessions that wait. */
  const revoke = new Set<() => void>();
  const hold: OpenLinks['hold'] = (_session, end) => {
    const one = (): void => end(new Problem('unauthorized', 'as the test says'));
    revoke.add(one);
    return () => void revoke.delete(one);
  };
  const waiting = new WaitingService(repository, presenter, watches, { hold } as OpenLinks, settings);
  const request = (query: ReadCheckout, by = 'till-7', till?: TillSession): Promise<CheckoutReply> =>
    waiting.get(ID, query, { by, origin: '127.0.0.1', requestId: 'one', till });
  const ask = (query: ReadCheckout, by?: string, till?: TillSession): Asked => {
    const asked: Asked = { answer: null };
    request(query, by, till).then(
      ({ version }) => (asked.answer = { version }),
      (error: unknown) => (asked.answer = { code: error instanceof Problem ? error.code : String(error) }),
    );
    return asked;
  };
  return { stored, get, reads, changes, waiting, ask, revoke };
}

describe('a read that waits', () => {
  it('answers at once with a state that its caller does not know', async () => {
    const { stored, ask } = service();
    stored.version = 5;
    const asked = ask({ wait: 25, after_version: 4 });
    await settled();
    expect(asked.answer).toEqual({ version: 5 });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('answers as soon as an announced change is there', async () => {
    const { stored, changes, ask } = service();
    const asked = ask({ wait: 25, after_version: 1 });
    await settled();
    expect(asked.answer).toBeNull();
    stored.version = 2;
    changes.announce(ID, 'changed');
    await settled();
    expect(asked.answer).toEqual({ version: 2 });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('sees a change that was announced just before it began', async () => {
    const { stored, changes, ask } = service();
    changes.announce(ID, 'messaged');
    await pass(20);
    const asked = ask({ wait: 25, after_version: 1 });
    await settled();
    expect(asked.answer).toBeNull();
    stored.version = 2;
    await pass(70);
    expect(asked.answer).toEqual({ version: 2 });
  });

  it('finds a change that no one announced at its next poll', async () => {
    const { stored, ask } = service();
    const asked = ask({ wait: 25, after_version: 1 });
    await settled();
    stored.version = 2;
    await pass(1_000);
    expect(asked.answer).toEqual({ version: 2 });
  });

  it('without after_version waits for a change after its arrival', async () => {
    const { stored, ask } = service();
    stored.version = 7;
    const asked = ask({ wait: 25 });
    await pass(10_000);
    expect(asked.answer).toBeNull();
    stored.version = 8;
    await pass(5_000);
    expect(asked.answer).toEqual({ version: 8 });
  });

  it('answers with the newest state when the time is up, read once more', async () => {
    const { reads, ask } = service();
    const asked = ask({ wait: 2, after_version: 1 });
    await pass(1_999);
    expect(asked.answer).toBeNull();
    const before = reads.mock.calls.length;
    await pass(1);
    expect(asked.answer).toEqual({ version: 1 });
    expect(reads.mock.calls.length).toBe(before + 1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('answers at once when the checkout has closed', async () => {
    const { stored, ask } = service();
    stored.closed = true;
    const asked = ask({ wait: 25, after_version: 1 });
    await settled();
    expect(asked.answer).toEqual({ version: 1 });
  });

  it('costs the reads of one watcher with any number of callers, fewer the longer nothing changes', async () => {
    const { reads, get, ask } = service();
    const asked = Array.from({ length: 50 }, () => ask({ wait: 25, after_version: 1 }));
    // At 0, 1, 3, 7, 12, 17 and 22 s.
    await pass(24_999);
    expect(reads).toHaveBeenCalledTimes(7);
    await pass(1);
    expect(asked.map(({ answer }) => answer)).toEqual(asked.map(() => ({ version: 1 })));
    // Once more for all of them, when the time is up.
    expect(reads).toHaveBeenCalledTimes(8);
    expect(get).not.toHaveBeenCalled();
  });

  it('is answered by the read of a caller who came just before', async () => {
    const { reads, ask } = service();
    ask({ wait: 25, after_version: 1 });
    await pass(100);
    const later = ask({ wait: 25, after_version: 0 });
    await settled();
    expect(later.answer).toEqual({ version: 1 });
    expect(reads).toHaveBeenCalledTimes(1);
  });

  it('is not answered by a read from before an announced change', async () => {
    const { stored, changes, reads, ask } = service();
    ask({ wait: 25, after_version: 9 });
    await pass(100);
    stored.version = 2;
    changes.announce(ID, 'changed');
    const later = ask({ wait: 25, after_version: 0 });
    await settled();
    expect(later.answer).toEqual({ version: 2 });
    expect(reads).toHaveBeenCalledTimes(2);
  });
});

describe('a read that waits for a checkout that Temporal does not know', () => {
  it.each([{ wait: 25 }, { wait: 25, after_version: 3 }])('gets 404 at once with %j', async (query) => {
    const { stored, ask } = service();
    stored.failure = 'not_found';
    const asked = ask(query);
    await settled();
    expect(asked.answer).toEqual({ code: 'not_found' });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('waits after version 0 until the checkout appears', async () => {
    const { stored, changes, ask } = service();
    stored.failure = 'not_found';
    const asked = ask({ wait: 25, after_version: 0 });
    await pass(5_000);
    expect(asked.answer).toBeNull();
    stored.failure = null;
    changes.announce(ID, 'changed');
    await settled();
    expect(asked.answer).toEqual({ version: 1 });
  });

  it('gets 404 when the time is up', async () => {
    const { stored, reads, ask } = service();
    stored.failure = 'not_found';
    const asked = Array.from({ length: 50 }, () => ask({ wait: 5, after_version: 0 }));
    await pass(5_000);
    expect(asked.map(({ answer }) => answer)).toEqual(asked.map(() => ({ code: 'not_found' })));
    expect(reads).toHaveBeenCalledTimes(4);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('while Temporal is down', () => {
  it('a read that has found nothing yet is refused at once', async () => {
    const { stored, ask } = service();
    stored.failure = 'temporal_unavailable';
    const asked = ask({ wait: 25, after_version: 1 });
    await settled();
    expect(asked.answer).toEqual({ code: 'temporal_unavailable' });
  });

  it('a read that waits goes on, and answers with the last known state when the time is up', async () => {
    const { stored, ask } = service();
    const asked = ask({ wait: 10, after_version: 1 });
    await settled();
    stored.failure = 'temporal_unavailable';
    await pass(9_999);
    expect(asked.answer).toBeNull();
    await pass(1);
    expect(asked.answer).toEqual({ version: 1 });
  });
});

describe('a waiting request', () => {
  it('of a caller who disconnects costs no further read, and frees its place', async () => {
    const { stored, reads, waiting, ask } = service(2);
    const response = new EventEmitter();
    const left = withBudget(budgetOf(response as ServerResponse, 3_500), () =>
      waiting
        .get(ID, { wait: 25, after_version: 1 }, { by: 'till-7', origin: '127.0.0.1', requestId: 'one' })
        .catch(() => 'refused'),
    );
    await settled();
    response.emit('close');
    expect(await left).toBe('refused');
    expect(vi.getTimerCount()).toBe(0);
    const before = reads.mock.calls.length;
    await pass(60_000);
    expect(reads.mock.calls.length).toBe(before);
    stored.version = 2;
    const next = ask({ wait: 25, after_version: 1 });
    await settled();
    expect(next.answer).toEqual({ version: 2 });
  });

  it('is refused beyond the half of a key, and beyond all places', async () => {
    const { get, ask } = service(4);
    const asked = ['a', 'a', 'a', 'b', 'b', 'c'].map((by) => ask({ wait: 25, after_version: 1 }, by));
    await settled();
    const refused = { code: 'overloaded' };
    expect(asked.map(({ answer }) => answer)).toEqual([null, null, refused, null, null, refused]);
    const atOnce = ask({}, 'c');
    await settled();
    expect(atOnce.answer).toEqual({ version: 1 });
    expect(get).toHaveBeenCalledTimes(1);
  });

  it('of a session is refused when its link ends', async () => {
    const { ask, revoke } = service();
    const session: TillSession = { link: 'clnk_a', terminal: 'till-7', store: null, expires: 9_999_999_999 };
    const asked = ask({ wait: 25, after_version: 1 }, 'counter:clnk_a:till-7', session);
    await settled();
    expect(asked.answer).toBeNull();
    for (const end of revoke) end();
    await settled();
    expect(asked.answer).toEqual({ code: 'unauthorized' });
    expect([vi.getTimerCount(), revoke.size]).toEqual([0, 0]);
  });

  it('is answered at once when the process stops, also one that arrives later', async () => {
    const { waiting, ask } = service();
    const asked = ask({ wait: 25, after_version: 1 });
    await settled();
    waiting.beforeApplicationShutdown();
    const late = ask({ wait: 25, after_version: 1 });
    await settled();
    expect([asked.answer, late.answer]).toEqual([{ version: 1 }, { version: 1 }]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
