import {
  AuthenticationError,
  ConnectionError,
  NotFoundError,
  type PaymentsClient,
  PermissionError,
  RateLimitError,
  ServerError,
  TimeoutError,
} from '@tillflow/payments-client';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { EventTailWatch } from '../checkouts/event-tail-watch.js';
import { isAnswer, ProviderStatus } from './provider-status.js';

const unsent = { outcome: 'not_sent', retryable: true } as const;
const refused = new ConnectionError('refused', { code: 'connection_failed', ...unsent });

let started: ProviderStatus | undefined;
afterEach(() => started?.onModuleDestroy());

/** The status of one process, whose probes get this answer, and whose event tail fails since that time. */
function statusOf(answer: () => Promise<unknown>, failingSince: string | null = null) {
  const retrieve = vi.fn<() => Promise<unknown>>(answer);
  const tail = { providerFailingSince: () => Promise.resolve(failingSince) } as EventTailWatch;
  started = new ProviderStatus({ account: { retrieve } } as unknown as PaymentsClient, tail);
  return { status: started, retrieve };
}

describe('the status of the provider', () => {
  it('is known to the first caller, and all callers share one probe', async () => {
    const { status, retrieve } = statusOf(() => Promise.resolve({}));
    const states = await Promise.all(Array.from({ length: 500 }, () => status.current()));
    expect(new Set(states.map((state) => state.status))).toEqual(new Set(['ok']));
    expect(retrieve).toHaveBeenCalledTimes(1);
  });

  it('costs no call before someone asks', () => {
    expect(statusOf(() => Promise.resolve({})).retrieve).not.toHaveBeenCalled();
  });

  it('is not known after one failure, unless the event tail fails as well', async () => {
    const since = '2026-11-21T05:30:00.000Z';
    const fails = () => Promise.reject(refused);
    expect(await statusOf(fails).status.current()).toEqual({ status: 'unknown', since: null });
    expect(await statusOf(fails, since).status.current()).toEqual({ status: 'failing', since: Date.parse(since) });
    expect(await statusOf(() => Promise.resolve({}), since).status.current()).toMatchObject({ status: 'ok' });
  });

  it('makes a caller wait for at most a second when the provider hangs', async () => {
    const { status } = statusOf(() => new Promise(() => undefined));
    expect(await status.current()).toEqual({ status: 'unknown', since: null });
  });
});

describe('a failed call', () => {
  const rejected = { outcome: 'rejected', retryable: false } as const;
  const unknown = { outcome: 'unknown', retryable: true } as const;

  it.each([
    ['that finds no provider', refused, false],
    ['without an answer', new TimeoutError('slow', { code: 'timeout', ...unknown }), false],
    ['that the provider could not serve', new ServerError('down', { code: 'down', status: 503, ...unknown }), false],
    [
      'with a refused key',
      new AuthenticationError('key', { code: 'authentication_failure', status: 401, ...rejected }),
      false,
    ],
    [
      'with a key that may not read the account',
      new PermissionError('key', { code: 'not_permitted', status: 403, ...rejected }),
      true,
    ],
    [
      'for an account that it does not show',
      new NotFoundError('none', { code: 'not_found', status: 404, ...rejected }),
      true,
    ],
    ['over the rate limit', new RateLimitError('busy', { code: 'too_many', status: 429, ...rejected }), null],
    ['that waited for its own limit', new TimeoutError('late', { code: 'deadline_exceeded', ...unsent }), null],
    ['because of a bug', new TypeError('a bug'), null],
  ])('%s: whether the provider works', (_, error, answers) => {
    expect(isAnswer(error)).toBe(answers);
  });
});
