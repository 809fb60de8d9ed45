import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { PUBLIC_KEY, SECRET_KEY } from '../test/provider.js';
import { PaymentsClient } from './client.js';
import { ConfigurationError } from './errors.js';
import { type PaymentsClientOptions, resolveSettings, VERSION } from './options.js';

const valid: PaymentsClientOptions = { baseUrl: 'https://provider.test', secretKey: SECRET_KEY };

function mistakeOf(options: object): string {
  try {
    return inspect(new PaymentsClient({ ...valid, ...options }));
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toMatchObject({ outcome: 'not_sent', retryable: false, code: 'invalid_settings' });
    return String(error);
  }
}

describe('settings', () => {
  test('have defaults', () => {
    expect(resolveSettings(valid)).toMatchObject({ timeoutMs: 10_000, deadlineMs: 30_000, maxRetries: 3 });
    expect(resolveSettings({ ...valid, timeoutMs: 60_000 })).toMatchObject({ deadlineMs: 60_000 });
  });

  test.each<[object, RegExp]>([
    [{ baseUrl: 'provider.test' }, /baseUrl is not a URL/],
    [{ baseUrl: undefined }, /baseUrl is not a URL/],
    [{ baseUrl: 'ftp://provider.test' }, /http or https/],
    [{ baseUrl: 'https://user:pw@provider.test' }, /credentials/],
    [{ baseUrl: 'https://provider.test/?a=1' }, /query/],
    [{ secretKey: undefined }, /secretKey is missing/],
    [{ secretKey: '' }, /secretKey is missing/],
    [{ secretKey: PUBLIC_KEY }, /secretKey is a public key/],
    [{ publicKey: SECRET_KEY }, /publicKey is a secret key/],
    [{ secretKey: `${SECRET_KEY}\n` }, /secretKey contains white space/],
    [{ secretKey: `${SECRET_KEY}:` }, /secretKey contains white space/],
    [{ timeoutMs: 0 }, /timeoutMs/],
    [{ deadlineMs: -1 }, /deadlineMs/],
    [{ maxRetries: Number.NaN }, /maxRetries/],
    [{ requestsPerSecond: -1 }, /requestsPerSecond/],
    [{ requestsPerSecond: Number.POSITIVE_INFINITY }, /requestsPerSecond/],
    [{ userAgent: 'a\r\nb: c' }, /userAgent/],
    [{ apiVersion: 'a\nb' }, /apiVersion/],
    [{ apiVersionHeader: 'a b' }, /apiVersionHeader/],
  ])('%j is refused without showing a key', (options, mistake) => {
    const message = mistakeOf(options);
    expect(message).toMatch(mistake);
    expect(message).not.toContain(SECRET_KEY);
    expect(message).not.toContain(PUBLIC_KEY);
  });

  test('report all mistakes at once', () => {
    expect(mistakeOf({ baseUrl: 'x', secretKey: '', timeoutMs: 0 })).toMatch(/baseUrl.*secretKey.*timeoutMs/);
  });

  test('accept a key with an unknown prefix', () => {
    expect(resolveSettings({ ...valid, secretKey: 'rk_live_1' }).secretKey).toBe('rk_live_1');
  });

  test('send the version of the package in the user agent', () => {
    const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
      version: string;
    };
    expect(VERSION).toBe(version);
  });
});
