import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { connectionSettings } from '../connection/connection.js';
import {
  businessDayRule,
  businessDaySettings,
  flag,
  integer,
  list,
  readSettings,
  SettingsError,
  temporalSettings,
} from './settings.js';

const schema = z.object({
  ...temporalSettings,
  COUNT: integer(3, 1, 10),
  FLAG: flag(false),
  NAMES: list(),
  SECRET: z.string('is needed').min(10, 'is too short'),
});

describe('readSettings', () => {
  it('applies defaults, and treats an empty variable as unset', () => {
    const settings = readSettings(schema, { NAMES: 'a, b', SECRET: '0123456789', COUNT: '', FLAG: 'true' });
    expect(settings).toMatchObject({
      TEMPORAL_ADDRESS: '127.0.0.1:7233',
      TEMPORAL_NAMESPACE: 'default',
      TEMPORAL_TASK_QUEUE: 'tillflow',
      COUNT: 3,
      FLAG: true,
      NAMES: ['a', 'b'],
    });
  });

  it('names every wrong setting at once, and repeats no value', () => {
    const wrong = { TEMPORAL_ADDRESS: 'nowhere', COUNT: '11', FLAG: 'yes', NAMES: ' , ', SECRET: 'hush' };
    let message = '';
    try {
      readSettings(schema, wrong);
    } catch (error) {
      expect(error).toBeInstanceOf(SettingsError);
      message = String(error);
    }
    for (const name of Object.keys(wrong)) expect(message).toContain(name);
    expect(message).not.toContain('hush');
    expect(message).not.toContain('nowhere');
  });

  it('says which missing settings are needed', () => {
    expect(() => readSettings(schema, {})).toThrow('Wrong settings:\n  - NAMES: is needed\n  - SECRET: is needed');
  });

  it.each([
    { TEMPORAL_ADDRESS: '127.0.0.1:99999' },
    // It becomes part of search queries.
    { TEMPORAL_TASK_QUEUE: "tills' own" },
    { TEMPORAL_TASK_QUEUE: 'tills\\' },
  ])('refuses %j', (wrong) => {
    expect(() => readSettings(z.object(temporalSettings), wrong)).toThrow(Object.keys(wrong)[0]);
  });

  it.each(['1e3', '0x1', ' 1', '1.0', '--1', 'NaN'])('refuses "%s" as a whole number', (COUNT) => {
    expect(() => readSettings(z.object({ COUNT: integer(1, 0, 10_000) }), { COUNT })).toThrow(SettingsError);
  });
});

describe('PAYLOAD_KEYS', () => {
  const key = randomBytes(32).toString('base64');
  const read = (PAYLOAD_KEYS: string) => readSettings(z.object(temporalSettings), { PAYLOAD_KEYS }).PAYLOAD_KEYS;

  it('is undefined when unset, and otherwise keeps the order of the keys', () => {
    expect(read('')).toBeUndefined();
    expect(read(`new-1:${key}, old:${key}`)?.map(({ id }) => id)).toEqual(['new-1', 'old']);
    expect(read(`a:${key}`)?.[0]?.key).toEqual(Buffer.from(key, 'base64'));
  });

  it.each([
    ['without an id', key],
    ['with an empty entry', `a:${key},`],
    ['with the same id twice', `a:${key},a:${key}`],
    ['with an id that is too long', `${'a'.repeat(33)}:${key}`],
    ['with another letter in the id', `A:${key}`],
    ['with a key of 31 bytes', `a:${randomBytes(31).toString('base64')}`],
    ['with a key of 33 bytes', `a:${randomBytes(33).toString('base64')}`],
    ['with a key in hex', `a:${randomBytes(32).toString('hex')}`],
  ])('is refused %s, and the message repeats no key', (_, text) => {
    expect(() => read(text)).toThrow(SettingsError);
    expect(() => read(text)).toThrow('PAYLOAD_KEYS');
    expect(() => read(text)).not.toThrow(key);
  });
});

describe('connectionSettings', () => {
  const read = (environment: Record<string, string>) =>
    connectionSettings(readSettings(z.object(temporalSettings), environment));

  it('uses no TLS unless TEMPORAL_TLS, a certificate or a key is set', async () => {
    expect(await read({})).toEqual({ address: '127.0.0.1:7233' });
    expect(await read({ TEMPORAL_TLS: 'true' })).toEqual({ address: '127.0.0.1:7233', tls: {} });
    expect(await read({ TEMPORAL_ADDRESS: 'ns.example:7233', TEMPORAL_API_KEY: 'key' })).toEqual({
      address: 'ns.example:7233',
      tls: {},
      apiKey: 'key',
    });
  });

  it('uses TLS when only the server name is set', async () => {
    expect(await read({ TEMPORAL_TLS_SERVER_NAME: 'temporal.internal' })).toEqual({
      address: '127.0.0.1:7233',
      tls: { serverNameOverride: 'temporal.internal' },
    });
  });

  it('reads certificate and key from their files', async () => {
    const here = import.meta.filename;
    const { tls } = await read({
      TEMPORAL_TLS_CERT_PATH: here,
      TEMPORAL_TLS_KEY_PATH: here,
      TEMPORAL_TLS_SERVER_NAME: 'temporal.internal',
    });
    expect(tls).toMatchObject({ serverNameOverride: 'temporal.internal' });
    expect(tls).toHaveProperty('clientCertPair.crt');
  });

  it('refuses a certificate without its key, and a missing file', async () => {
    await expect(read({ TEMPORAL_TLS_CERT_PATH: '/nowhere' })).rejects.toThrow('go together');
    await expect(read({ TEMPORAL_TLS_CA_PATH: '/nowhere' })).rejects.toThrow('cannot be read');
  });
});

describe('businessDaySettings', () => {
  const read = (environment: Record<string, string>) =>
    businessDayRule(readSettings(z.object(businessDaySettings), environment));

  it('are the days of UTC unless a zone or a start is set', () => {
    expect(read({})).toEqual({ timeZone: 'UTC', start: '00:00' });
    expect(read({ BUSINESS_TIMEZONE: 'Asia/Bangkok', BUSINESS_DAY_START: '04:30' })).toEqual({
      timeZone: 'Asia/Bangkok',
      start: '04:30',
    });
  });

  it.each([
    [{ BUSINESS_TIMEZONE: 'Mars/Olympus' }, 'BUSINESS_TIMEZONE: must be an IANA time zone'],
    [{ BUSINESS_TIMEZONE: '+07:00' }, 'BUSINESS_TIMEZONE: must be an IANA time zone'],
    [{ BUSINESS_DAY_START: '4:00' }, 'BUSINESS_DAY_START: must be HH:MM'],
    [{ BUSINESS_DAY_START: '24:00' }, 'BUSINESS_DAY_START: must be HH:MM'],
  ])('refuse %j', (environment, words) => {
    expect(() => read(environment)).toThrow(words);
  });
});
