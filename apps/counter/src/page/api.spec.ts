import { afterEach, describe, expect, it, vi } from 'vitest';
import { Api } from './api.js';
import { ServerClock } from './server-clock.js';

afterEach(() => void vi.unstubAllGlobals());

const problem = (status: number, code: string) => Response.json({ code, detail: 'Text' }, { status });
const page = (status: number) =>
  new Response('<html>Sign in', { status, headers: { 'content-type': 'text/html; charset=utf-8' } });

function apiThat(answers: () => Response): Api {
  vi.stubGlobal('fetch', () => Promise.resolve(answers()));
  return new Api('https://api.test', new ServerClock());
}

describe('a read of the session', () => {
  it.each([
    ['the API', () => problem(401, 'unauthorized'), true, true],
    ['the API, for another reason,', () => problem(503, 'overloaded'), false, true],
    ['a page', () => page(401), false, false],
    ['JSON of another program', () => Response.json({ error: 'sign in' }, { status: 403 }), false, false],
    ['a page that looks like success', () => page(200), false, false],
  ])('that %s refuses is final only when the API says so', async (_, answer, isFinal, isReached) => {
    const api = apiThat(answer);
    await expect(api.readSession('tills_one')).rejects.toMatchObject({ isFinal });
    expect(api.isReached).toBe(isReached);
  });
});

describe('a request of the SDK', () => {
  it.each([
    ['the API', () => Response.json({ accepting: true }), true, 0],
    ['the sign-in page of a network', () => page(200), false, 1],
    ['a proxy', () => page(502), false, 1],
  ])('that %s answers shows whether the page reaches the API', async (_, answer, isReached, doubts) => {
    const api = apiThat(answer);
    api.lost();
    const onDoubt = vi.fn<() => void>();
    api.onDoubt = onDoubt;
    await api
      .sdk('tills_one')
      .availability({ patienceMs: 0 })
      .catch(() => undefined);
    expect([api.isReached, onDoubt.mock.calls.length]).toEqual([isReached, doubts]);
  });
});
