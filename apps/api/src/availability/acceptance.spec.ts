import { Pauses, type Pause } from '@tillflow/temporal';
import { pino } from 'pino';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Settings } from '../providers.js';
import type { TemporalAccess } from '../temporal/temporal.provider.js';
import { Acceptance, notAccepting } from './acceptance.js';
import { acceptanceOf } from './availability.service.js';

const PAUSE: Pause = { reason: 'stocktaking', by: 'cli:somchai', since: '2026-11-21T05:00:00.000Z' };

afterEach(() => void vi.restoreAllMocks());

/** The acceptance of one process, and its reads of Temporal. */
function process() {
  const read = vi.spyOn(Pauses.prototype, 'read').mockResolvedValue(null);
  const settings = { values: { TEMPORAL_TASK_QUEUE: 'q' } } as Settings;
  return { read, acceptance: new Acceptance({} as TemporalAccess, settings, pino({ level: 'silent' })) };
}

describe('a pause', () => {
  it('is read at most once in 3 s, however many checkouts begin', async () => {
    const { read, acceptance } = process();
    await Promise.all(Array.from({ length: 500 }, (_, n) => acceptance.pause(n * 6)));
    expect(read).toHaveBeenCalledTimes(1);
    await acceptance.pause(3_000);
    expect(read).toHaveBeenCalledTimes(2);
  });

  it('takes effect within 10 s in a process that is asked all the time, and in one that was quiet for an hour', async () => {
    const { read, acceptance } = process();
    expect(await acceptance.pause(0)).toBeNull();
    read.mockResolvedValue(PAUSE);
    expect(await acceptance.pause(2_999)).toBeNull();
    await acceptance.pause(3_000);
    expect(await acceptance.pause(3_001)).toEqual(PAUSE);
    read.mockResolvedValue(null);
    expect(await acceptance.pause(3_600_000)).toBeNull();
  });

  it('stays as it was last read while Temporal does not answer, and begins to be read again within 3 s', async () => {
    const { read, acceptance } = process();
    read.mockResolvedValue(PAUSE);
    await acceptance.pause(0);
    read.mockRejectedValue(new Error('Temporal is down'));
    expect(await acceptance.pause(60_000)).toEqual(PAUSE);
    expect(await acceptance.pause(600_000)).toEqual(PAUSE);
    read.mockResolvedValue(null);
    expect(await acceptance.pause(603_000)).toBeNull();
  });

  it('lets a caller wait for at most a second when Temporal hangs', async () => {
    const { read, acceptance } = process();
    read.mockReturnValue(new Promise(() => undefined));
    expect(await acceptance.pause(0)).toBeNull();
  });

  it('refuses with its reason, and says when to come back', () => {
    expect(notAccepting(PAUSE)).toMatchObject({
      code: 'not_accepting',
      status: 503,
      detail: 'Payments are paused: stocktaking',
      extra: { retryAfterSeconds: 30 },
    });
  });
});

describe('accepting', () => {
  const since = '2026-11-21T05:30:00.000Z';

  it.each([
    ['an operator has paused payments', PAUSE, { status: 'ok', since }, [false, 'stocktaking', PAUSE.since]],
    ['both are true', PAUSE, { status: 'failing', since }, [false, 'stocktaking', PAUSE.since]],
    ['the provider fails', null, { status: 'failing', since }, [false, 'The payment provider does not answer', since]],
    ['the provider works', null, { status: 'ok', since }, [true, null, null]],
    ['the provider is not known yet', null, { status: 'unknown', since: null }, [true, null, null]],
  ] as const)('when %s', (_, pause, provider, [accepting, reason, from]) => {
    expect(acceptanceOf(pause, provider)).toEqual({ accepting, reason, since: from });
  });
});
