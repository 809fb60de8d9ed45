import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { api, checkoutOf, json, KEY } from '../test/api.js';
import { Tillflow, TillflowError, webhooks } from './index.js';

const SALE = { reference: 'till-7-000142', amount: 150_000, currency: 'THB' } as const;

describe('a client', () => {
  test('keeps the path of its address', async () => {
    const { baseUrl, routes } = await api(json(201, checkoutOf()));
    await new Tillflow({ baseUrl: `${baseUrl}/pay/`, key: KEY }).checkouts.create(SALE);
    expect(routes()).toEqual(['POST /pay/v1/checkouts']);
  });

  test('lists every mistake in its settings, and no key', () => {
    const key = 'geheim \n';
    const make = (): Tillflow => new Tillflow({ baseUrl: 'ftp://a:b@c', key, patienceMs: Number.NaN, timeoutMs: 0 });
    expect(make).toThrow(TillflowError);
    expect(make).toThrow(
      'invalid_settings: baseUrl is not an http or https address; baseUrl contains credentials, a query or a fragment; ' +
        'key is missing, or not visible ASCII; patienceMs is not a number of milliseconds; ' +
        'timeoutMs is not a positive number of milliseconds. This call moved no money.',
    );
    expect(() => new Tillflow({ baseUrl: '', key: KEY })).toThrow('baseUrl');
  });

  test.each(['60000', null, Number.NaN, -1])('takes no %j for a number of milliseconds', async (ms) => {
    const given = ms as number;
    const make = (): Tillflow => new Tillflow({ baseUrl: 'https://pay.example', key: KEY, patienceMs: given });
    expect(make).toThrow('patienceMs is not a number');
    expect(() => new Tillflow({ baseUrl: 'https://pay.example', key: KEY, timeoutMs: given })).toThrow('timeoutMs');
    const { tillflow, seen } = await api(json(200, checkoutOf()));
    const call = tillflow().checkouts.create(SALE, { patienceMs: given });
    await expect(call).rejects.toMatchObject({ code: 'invalid_argument', money: 'not_moved' });
    expect(seen).toEqual([]);
  });

  test('shows its key neither when it is printed nor as JSON', () => {
    const tillflow = new Tillflow({ baseUrl: 'https://pay.example', key: KEY });
    expect(`${inspect(tillflow, { depth: 9, showHidden: true })}${JSON.stringify(tillflow)}`).not.toContain(KEY);
  });

  test('sends with the fetch that it is given', async () => {
    const urls: unknown[] = [];
    const fetch: typeof globalThis.fetch = async (url) => {
      urls.push(url);
      return Response.json(checkoutOf());
    };
    await new Tillflow({ baseUrl: 'https://pay.example', key: KEY, fetch }).checkouts.create(SALE);
    expect(urls).toEqual(['https://pay.example/v1/checkouts']);
  });

  test('reads whether new payments are possible', async () => {
    const { tillflow, routes } = await api(json(200, { accepting: false, reason: 'paused', currencies: [] }));
    expect(await tillflow().availability()).toMatchObject({ accepting: false, reason: 'paused' });
    expect(routes()).toEqual(['GET /v1/availability']);
  });

  test('verifies events', () => {
    expect(new Tillflow({ baseUrl: 'https://pay.example', key: KEY }).webhooks).toBe(webhooks);
  });
});
