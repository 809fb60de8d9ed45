import 'reflect-metadata';
import { checkoutId, type CheckoutKey } from '@tillflow/domain';
import { Checkouts, type StoredCheckout, type Temporal } from '@tillflow/temporal';
import { sampleIntent } from '@tillflow/workflows/testing';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Settings } from '../providers.js';
import { TemporalAccess } from '../temporal/temporal.provider.js';
import { CheckoutChanges } from './checkout-changes.js';
import type { CheckoutsRepository } from './checkouts.repository.js';
import { CheckoutStarts, type BeginOutcome } from './starts.js';
import { Watches } from './watches.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const PLACES = 16;
/** More than are served one after the other while a customer waits. */
const CALLERS = 100;
/** What remains of the default `ANSWER_WITHIN_MS` before a read. */
const WITHIN_MS = 3_060;
const silent = pino({ enabled: false });

type AtProvider = CheckoutsRepository['atProviderMs'];

/** An API whose checkouts have their QR code after this time. Temporal itself is idle. */
function apiOf(qrAfterMs: () => number, atProviderMs: (elapsedMs: number) => ReturnType<AtProvider>) {
  const startedAt = new Map<string, number>();
  const elapsedMs = (key: CheckoutKey): number => performance.now() - (startedAt.get(checkoutId(key)) ?? Infinity);
  const start = async (_type: string, { memo }: { memo: { intent: { id: string } } }): Promise<void> => {
    startedAt.set(memo.intent.id, performance.now());
  };
  const client = { workflow: { start } };
  const connection = { withDeadline: <T>(_deadline: number, work: () => T): T => work() };
  const temporal = new TemporalAccess({ client, connection } as unknown as Temporal, {
    write: PLACES,
    change: 1,
    read: 1,
    list: 1,
    hint: 1,
    background: 1,
  });
  const repository = {
    getInBackground: async (key: CheckoutKey) => {
      const isCreating = elapsedMs(key) < qrAfterMs();
      const state = { status: isCreating ? 'creating' : 'awaiting_payment', attempts: [] };
      return { version: isCreating ? 0 : 1, state } as unknown as StoredCheckout;
    },
    follow: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) }),
    atProviderMs: vi.fn<AtProvider>(async (key) => (elapsedMs(key) < qrAfterMs() ? atProviderMs(elapsedMs(key)) : 0)),
  };
  const settings = { values: { STREAM_POLL_MS: 5_000, TEMPORAL_TASK_QUEUE: 'a' } } as Settings;
  const changes = new CheckoutChanges();
  const asRepository = repository as unknown as CheckoutsRepository;
  const watches = new Watches(asRepository, settings, silent, changes);
  const starts = new CheckoutStarts(temporal, asRepository, watches, changes, settings, silent);
  let references = 0;
  /** Many tills begin a checkout at the same time. @returns what each got, or the code of its problem */
  const beginMany = async (): Promise<Record<string, number>> => {
    const begun = Array.from({ length: CALLERS }, () => {
      const intent = sampleIntent({ reference: `order-${(references += 1)}` });
      return starts.begin({ intent, requestNonce: 'a', input: {} }, WITHIN_MS).then(
        ({ kind }: BeginOutcome): string => kind,
        ({ code }: { code: string }) => code,
      );
    });
    await vi.advanceTimersByTimeAsync(WITHIN_MS + 100);
    const outcomes: Record<string, number> = {};
    for (const outcome of await Promise.all(begun)) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    return outcomes;
  };
  return { beginMany, temporal, repository };
}

describe('a start of a checkout', () => {
  it('is not refused for a slow provider while Temporal is idle', async () => {
    const { beginMany, temporal } = apiOf(
      () => 2 * 2_000,
      async (elapsedMs) => elapsedMs % 2_000,
    );
    expect(await beginMany()).toEqual({ unconfirmed: CALLERS });
    expect(await beginMany()).toEqual({ unconfirmed: CALLERS });
    expect(temporal.load('write').refused).toBe(0);
  });

  it('is not refused while cancels wait for a slow provider', async () => {
    const { beginMany, temporal } = apiOf(
      () => 100,
      async () => 0,
    );
    const workflow = { getHandle: () => ({ executeUpdate: () => new Promise(() => {}) }) };
    const { connection } = temporal;
    const checkouts = new Checkouts({ client: { workflow }, connection } as unknown as Temporal, {
      readWithinMs: WITHIN_MS,
      bounded: temporal.within,
    });
    for (let cancels = 0; cancels < 2 * PLACES; cancels += 1) {
      checkouts.cancel(sampleIntent(), {}, WITHIN_MS).catch(() => undefined);
    }
    expect(await beginMany()).toEqual({ opened: CALLERS });
  });

  it('keeps its place while Temporal and the workers begin it, however long its caller waits', async () => {
    const { beginMany } = apiOf(
      () => 2 * 2_000,
      async () => null,
    );
    expect(await beginMany()).toEqual({ unconfirmed: PLACES, overloaded: CALLERS - PLACES });
  });

  it('reads for all starts, each half second, whether Temporal or the provider is what takes long', async () => {
    const { beginMany, repository } = apiOf(
      () => 2 * 2_000,
      async () => null,
    );
    await beginMany();
    expect(repository.atProviderMs.mock.calls.length).toBeLessThan(PLACES);
  });

  it('causes no further read once QR codes take less than a second again', async () => {
    let qrAfterMs = 2 * 2_000;
    const { beginMany, repository } = apiOf(
      () => qrAfterMs,
      async (elapsedMs) => elapsedMs,
    );
    await beginMany();
    expect(repository.atProviderMs).toHaveBeenCalled();
    qrAfterMs = 300;
    // The reads of QR codes come earlier again only after some of them.
    for (let times = 0; times < 3; times += 1) await beginMany();
    repository.atProviderMs.mockClear();
    await beginMany();
    expect(repository.atProviderMs).not.toHaveBeenCalled();
  });
});
