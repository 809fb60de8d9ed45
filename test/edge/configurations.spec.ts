import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { apiSettings } from '@tillflow/api';
import { run } from '@tillflow/cli';
import { SettingsError } from '@tillflow/temporal';
import { workerSettings } from '@tillflow/worker';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

type Environment = Readonly<Record<string, string>>;

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const LIVE_KEY = 'skey_5w0ab1c2d3e4f5g6h7i';
const OWN_HASH = 'c'.repeat(64);

/** Safe with a live key. */
const LIVE: Environment = {
  PROVIDER_BASE_URL: 'https://api.provider.example',
  PROVIDER_SECRET_KEY: LIVE_KEY,
  PROVIDER_PUBLIC_KEY: 'pkey_5w0ab1c2d3e4f5g6h7i',
  PROVIDER_WEBHOOK_SECRET: Buffer.from('of the merchant alone').toString('base64'),
  URL_SIGNING_KEY: 'signs the links of this merchant alone',
  API_KEYS: `till:checkout:${OWN_HASH}`,
  PAYLOAD_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
};

/** The error of a program that starts with these settings; null when it starts. */
function refusal(read: (environment: Environment) => unknown, environment: Environment): string | null {
  try {
    read(environment);
    return null;
  } catch (error) {
    if (error instanceof SettingsError) return error.message;
    throw error;
  }
}

type Compose = {
  readonly services: Readonly<Record<string, { readonly environment?: Readonly<Record<string, string>> }>>;
};

/** Each value that docker-compose.yml has for a secret, with the setting it is for. */
const PUBLISHED = await (async () => {
  const compose = parse(await readFile(`${ROOT}/docker-compose.yml`, 'utf8'), { merge: true }) as Compose;
  const settings = Object.values(compose.services).flatMap(({ environment = {} }) => Object.entries(environment));
  return new Map(
    settings
      .filter(([name]) => /KEY|SECRET|PASSWORD|PWD|TOKEN/.test(name))
      .map(([name, value]) => [name, /^\$\{[A-Z_]+:-(.*)\}$/.exec(value)?.[1] ?? value] as const)
      .filter(([, value]) => value !== ''),
  );
})();

const PROGRAMS = [
  ['API', apiSettings],
  ['worker', workerSettings],
] as const;

describe.each(PROGRAMS)('with a live key, the %s', (_program, read) => {
  it('starts with a provider behind TLS and secrets of its own', () => {
    expect(refusal(read, LIVE)).toBeNull();
  });

  it.each(['http://api.provider.example', 'HTTP://127.0.0.1:4010', 'http://localhost:4010/v1'])(
    'refuses to start with the provider at %s',
    (PROVIDER_BASE_URL) => {
      expect(refusal(read, { ...LIVE, PROVIDER_BASE_URL })).toMatch(/^ {2}- PROVIDER_BASE_URL: .*https/m);
    },
  );

  it.each(['API_KEYS', 'PROVIDER_WEBHOOK_SECRET', 'PROVIDER_PUBLIC_KEY'])(
    'refuses to start with the %s that docker-compose.yml publishes, and its message does not contain the value',
    (name) => {
      const value = PUBLISHED.get(name) ?? '';
      expect(value).not.toBe('');
      const message = refusal(read, { ...LIVE, [name]: value });
      expect(message).toMatch(new RegExp(`^ {2}- ${name}: .*docker-compose.yml`, 'm'));
      expect(message).not.toContain(value);
    },
  );

  it('refuses to start with one published secret among others', () => {
    const [, hash = ''] = /ops:([0-9a-f]{64})/.exec(PUBLISHED.get('API_KEYS') ?? '') ?? [];
    const keys = `${LIVE['API_KEYS']}, other:ops:${hash.toUpperCase()}`;
    expect(refusal(read, { ...LIVE, API_KEYS: keys })).toContain('API_KEYS');
    const secrets = `${LIVE['PROVIDER_WEBHOOK_SECRET']}, ${PUBLISHED.get('PROVIDER_WEBHOOK_SECRET')}`;
    expect(refusal(read, { ...LIVE, PROVIDER_WEBHOOK_SECRET: secrets })).toContain('PROVIDER_WEBHOOK_SECRET');
  });

  it('lists unsafe settings together with invalid ones', () => {
    const environment = {
      ...LIVE,
      PROVIDER_BASE_URL: 'http://api.provider.example',
      API_KEYS: PUBLISHED.get('API_KEYS') ?? '',
      TEMPORAL_ADDRESS: 'nowhere',
    };
    const message = refusal(read, environment) ?? '';
    for (const name of ['PROVIDER_BASE_URL', 'API_KEYS', 'TEMPORAL_ADDRESS']) expect(message).toContain(`- ${name}:`);
    expect(message).not.toContain(LIVE_KEY);
  });
});

describe.each(PROGRAMS)('with a test key, the %s', (_program, read) => {
  it('starts with the provider of docker-compose.yml and its secrets', () => {
    const published = Object.fromEntries(PUBLISHED);
    const environment = { ...LIVE, ...published, PROVIDER_BASE_URL: 'http://sandbox:4010' };
    expect(refusal(read, environment)).toBeNull();
  });
});

describe('the list of published secrets', () => {
  it('has the value of every secret in docker-compose.yml', () => {
    expect([...PUBLISHED.keys()]).toEqual(expect.arrayContaining(['API_KEYS', 'PROVIDER_WEBHOOK_SECRET']));
    for (const [name, value] of PUBLISHED) {
      for (const entry of value.split(',')) {
        // As some other setting, where no test key excuses it.
        const environment = { ...LIVE, URL_SIGNING_KEY: entry.slice(entry.lastIndexOf(':') + 1).padEnd(1) };
        expect({ name, refused: refusal(workerSettings, environment) !== null }).toEqual({ name, refused: true });
      }
    }
  });
});

describe('each program with a live key and an http provider', () => {
  it.each([
    ['api', []],
    ['worker', []],
    ['cli', ['setup']],
  ])('(%s) exits with 2 before it does anything, and names PROVIDER_BASE_URL', async (app, args) => {
    const env = { ...LIVE, PATH: process.env['PATH'], PROVIDER_BASE_URL: 'http://127.0.0.1:1' };
    const child = spawn(process.execPath, [`apps/${app}/dist/main.js`, ...args], { cwd: ROOT, env });
    let out = '';
    child.stderr.on('data', (chunk: Buffer) => (out += chunk.toString()));
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect(code).toBe(2);
    expect(out).toContain('- PROVIDER_BASE_URL: ');
    expect(out).not.toContain(LIVE_KEY);
  });

  it('(doctor) reports the http provider, and does not send the key', async () => {
    const environment = { ...LIVE, PROVIDER_BASE_URL: 'http://127.0.0.1:1', TEMPORAL_ADDRESS: '127.0.0.1:1' };
    const { out } = await run(['doctor', '--json'], environment);
    const { findings } = JSON.parse(out) as { findings: { code: string }[] };
    const codes = findings.map(({ code }) => code);
    expect(codes).toContain('provider_over_http');
    expect(codes).not.toContain('provider_unreachable');
  });
});
