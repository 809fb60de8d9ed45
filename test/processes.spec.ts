import { spawn } from 'node:child_process';
import { access, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { apiSettings } from '@tillflow/api';
import { describe, expect, inject, it } from 'vitest';
import { parse } from 'yaml';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const HASH = 'a'.repeat(64);
const API = { API_KEYS: `till:checkout:${HASH}`, URL_SIGNING_KEY: 'u'.repeat(32) };

const PROVIDER = {
  PROVIDER_BASE_URL: 'http://127.0.0.1:1',
  PROVIDER_SECRET_KEY: 'skey_test_process',
  PROVIDER_PUBLIC_KEY: 'pkey_test_process',
  PROVIDER_WEBHOOK_SECRET: Buffer.from('a secret').toString('base64'),
};

type Ended = { readonly code: number | null; readonly out: string };

/** Runs a command as a container does: with its arguments and its environment only. */
function run(command: readonly string[], environment: Readonly<Record<string, string>>) {
  const [, ...args] = command;
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { PATH: process.env['PATH'] ?? '', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  child.stderr.on('data', (chunk: Buffer) => (out += chunk.toString()));
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => (out += `${line}\n`));
  const ended = new Promise<Ended>((resolve) => child.once('close', (code) => resolve({ code, out })));
  const line = (start: string): Promise<string> =>
    new Promise((resolve, reject) => {
      lines.on('line', (text) => text.includes(start) && resolve(text));
      void ended.then(() => reject(new Error(`It ended without "${start}": ${out}`)));
    });
  return { ended, line, stop: () => child.kill('SIGTERM') };
}

/** The commands of the image's targets, as the Dockerfile has them. */
async function imageCommands(): Promise<Map<string, string[]>> {
  const commands = new Map<string, string[]>();
  let target = '';
  for (const line of (await readFile(`${ROOT}/Dockerfile`, 'utf8')).split('\n')) {
    target = /^FROM \S+ AS (\S+)/.exec(line)?.[1] ?? target;
    const [, kind, list] = /^(CMD|ENTRYPOINT) (\[.*\])$/.exec(line) ?? [];
    if (kind === 'ENTRYPOINT' || (kind === 'CMD' && !commands.has(target))) {
      commands.set(target, JSON.parse(list ?? '[]') as string[]);
    }
  }
  return commands;
}

const commands = await imageCommands();
const commandOf = (target: string): string[] => commands.get(target) ?? [];

const temporal = (): Record<string, string> => ({ TEMPORAL_ADDRESS: inject('temporalAddress') });

describe('the command of a container', () => {
  it('starts the sandbox, which shows its dashboard and exits with 0 after SIGTERM', async () => {
    const sandbox = run(commandOf('sandbox'), { ...PROVIDER, SANDBOX_PORT: '0' });
    const url = (await sandbox.line('sandbox ready')).split(' ').at(-1);
    expect((await fetch(`${url}/dashboard`)).status).toBe(200);
    sandbox.stop();
    expect((await sandbox.ended).code).toBe(0);
  });

  it('starts the API, which becomes ready and exits with 0 after SIGTERM', async () => {
    const api = run(commandOf('api'), { ...PROVIDER, ...API, ...temporal(), PORT: '0' });
    const { url } = JSON.parse(await api.line('"api ready"')) as { url: string };
    expect((await fetch(`${url}/health/ready`)).status).toBe(200);
    api.stop();
    expect((await api.ended).code).toBe(0);
  });

  it('starts the worker, which answers its health check and exits with 0 after SIGTERM', async () => {
    const port = String(20_000 + Math.floor(Math.random() * 10_000));
    const environment = { ...PROVIDER, ...temporal(), TEMPORAL_TASK_QUEUE: 'processes', WORKER_HEALTH_PORT: port };
    const worker = run(commandOf('worker'), environment);
    await worker.line('"worker ready"');
    expect((await fetch(`http://127.0.0.1:${port}/health/ready`)).status).toBe(200);
    worker.stop();
    expect((await worker.ended).code).toBe(0);
  });

  it('sets up the namespace, and has nothing to do the second time', async () => {
    expect((await run([...commandOf('cli'), 'setup'], temporal()).ended).code).toBe(0);
    const again = await run([...commandOf('cli'), 'setup'], temporal()).ended;
    expect(again).toMatchObject({ code: 0, out: 'default: nothing to do\n' });
  });
});

describe('a program with wrong settings', () => {
  it.each([
    [
      'api',
      {
        PORT: 'x',
        TEMPORAL_UI_URL: 'hush',
        API_KEYS: 'nonsense',
        URL_SIGNING_KEY: 'hush',
        PROVIDER_SECRET_KEY: 'pkey_test_hush',
        TEMPORAL_ADDRESS: 'nowhere',
      },
    ],
    ['api', { PAYLOAD_KEYS: 'first:hush' }],
    [
      'worker',
      { PAYLOAD_KEYS: 'hush', WORKER_BUILD_ID: 'hu sh', WORKER_DEPLOYMENT: 'a.hush', WORKER_MAKE_CURRENT: 'hush' },
    ],
    ['worker', { SHUTDOWN_GRACE_MS: '-1', PROVIDER_SECRET_KEY: 'pkey_test_hush', TEMPORAL_ADDRESS: 'nowhere' }],
    ['sandbox', { SANDBOX_PORT: 'x', WEBHOOK_URL: 'hush' }],
    ['cli', { TEMPORAL_ADDRESS: 'nowhere', PAYLOAD_KEYS: 'hush' }],
  ])('(%s) exits with 2, names each wrong setting and prints no value', async (target, environment) => {
    const { code, out } = await run([...commandOf(target), ...(target === 'cli' ? ['setup'] : [])], environment).ended;
    expect(code).toBe(2);
    for (const name of Object.keys(environment)) expect(out).toContain(name);
    expect(out).not.toContain('hush');
  });

  it('(api) exits with 2, and names each mistake of KEYS_FILE with its line', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tillflow-keys-'));
    const path = join(folder, 'keys.yml');
    await writeFile(path, '- name: a b\n  sha256: hush\n  account: default\n  scopes: [all]\n');
    const { code, out } = await run(commandOf('api'), { ...PROVIDER, ...API, ...temporal(), KEYS_FILE: path }).ended;
    await rm(folder, { recursive: true });
    expect(code).toBe(2);
    for (const line of [1, 2, 4]) expect(out).toContain(`KEYS_FILE, line ${line}: key 1`);
    expect(out).not.toContain('hush');
  });

  it.each(['off,b25l', 'not base64', 'b25l,,x y'])('(api) does not accept "%s" as webhook secrets', (secrets) => {
    const environment = { ...PROVIDER, ...API, PROVIDER_WEBHOOK_SECRET: secrets };
    expect(() => apiSettings(environment)).toThrow('PROVIDER_WEBHOOK_SECRET');
  });

  it('(api) without any setting exits with 2 and names each required setting', async () => {
    const { code, out } = await run(commandOf('api'), {}).ended;
    expect(code).toBe(2);
    for (const name of [
      'API_KEYS',
      'URL_SIGNING_KEY',
      'PROVIDER_BASE_URL',
      'PROVIDER_SECRET_KEY',
      'PROVIDER_WEBHOOK_SECRET',
    ]) {
      expect(out).toContain(name);
    }
  });
});

describe('the command line', () => {
  it('exits with 3 when Temporal cannot be reached', async () => {
    const lost = run([...commandOf('cli'), 'setup', '--wait', '0'], { TEMPORAL_ADDRESS: '127.0.0.1:1' });
    expect((await lost.ended).code).toBe(3);
  });
});

type Service = {
  image?: string;
  build?: { context: string; target: string };
  command?: string[];
  depends_on?: Record<string, { condition: string }>;
  environment?: Record<string, string>;
  healthcheck?: { test: string[] };
  configs?: unknown;
  secrets?: unknown;
  ports?: string[];
  cap_drop?: string[];
  cap_add?: string[];
  security_opt?: string[];
  read_only?: boolean;
  tmpfs?: string[];
  volumes?: string[];
  profiles?: string[];
};

/** Frontend, history, matching and worker. */
const TEMPORAL_SERVICES = 4;
/** Of a backup, of `psql`, of the tool that changes the schema, and those that PostgreSQL keeps for itself. */
const OTHER_CONNECTIONS = 20;

describe('docker-compose.yml', async () => {
  const compose = parse(await readFile(`${ROOT}/docker-compose.yml`, 'utf8'), { merge: true }) as {
    services: Record<string, Service>;
  };
  const services = Object.entries(compose.services);

  it('has Temporal with PostgreSQL and its UI, the sandbox, the worker and the API', () => {
    expect(Object.keys(compose.services)).toEqual(
      expect.arrayContaining(['postgres', 'temporal', 'temporal-ui', 'sandbox', 'worker', 'api', 'setup']),
    );
  });

  it.each(services)('builds %s from a target of the Dockerfile, or takes an image', (_, { build, image }) => {
    if (build === undefined) expect(image).toMatch(/^[\w/-]+:(\$\{\w+:-)?v?\d+\.\d+(\.\d+)?\}?$/);
    else expect([...commands.keys()]).toContain(build.target);
  });

  it.each(services)('makes %s wait only for existing services, with a condition that they can meet', (_, service) => {
    for (const [name, { condition }] of Object.entries(service.depends_on ?? {})) {
      const other = compose.services[name];
      expect(other).toBeDefined();
      if (condition === 'service_healthy') expect(other?.healthcheck).toBeDefined();
    }
  });

  // Compose copies a config or a secret into the container, which fails where the root is read-only.
  it.each(services)(
    '%s gets files of this repository in read-only volumes, and in no other way',
    async (_, service) => {
      expect([service.configs, service.secrets]).toEqual([undefined, undefined]);
      for (const volume of (service.volumes ?? []).filter((one) => one.startsWith('.'))) {
        const [path = '', , mode] = volume.split(':');
        expect(mode).toBe('ro');
        await access(`${ROOT}/${path}`);
      }
    },
  );

  it.each(['setup', 'cli', 'worker', 'api'])('lets %s read the files of keys and accounts', (name) => {
    expect(compose.services[name]?.volumes).toContain('./deploy/keys:/keys:ro');
  });

  it('lets Temporal answer as many lists a second as the handbook says', async () => {
    const limits = await readFile(`${ROOT}/deploy/temporal/dynamic-config.yaml`, 'utf8');
    const [limit] = (parse(limits) as Record<string, { value: number }[]>)['frontend.namespaceRPS.visibility'] ?? [];
    const handbook = await readFile(`${ROOT}/docs/operations.md`, 'utf8');
    const [, documented] = /sets the first one to (\d+)\./.exec(handbook) ?? [];
    expect(limit?.value).toBe(Number(documented));
  });

  it.each(['postgres', 'temporal', 'sandbox', 'worker', 'api'])('%s has a health check', (name) => {
    expect(compose.services[name]?.healthcheck?.test.length).toBeGreaterThan(0);
  });

  it('every setting that it gives to a program is listed in .env.example', async () => {
    const example = await readFile(`${ROOT}/.env.example`, 'utf8');
    for (const name of ['api', 'worker', 'sandbox', 'setup', 'cli']) {
      for (const setting of Object.keys(compose.services[name]?.environment ?? {})) {
        expect(example).toMatch(new RegExp(`^${setting}=`, 'm'));
      }
    }
  });

  it('has the command line for operators, with the settings that the doctor compares', () => {
    const { build, environment = {} } = compose.services['cli'] ?? {};
    expect(build?.target).toBe('cli');
    for (const name of Object.keys(compose.services['worker']?.environment ?? {})) {
      if (!name.startsWith('WORKER_')) expect(Object.keys(environment)).toContain(name);
    }
    expect(Object.keys(environment)).toContain('PROVIDER_WEBHOOK_SECRET');
  });

  it('publishes each port on the loopback address, and each by a setting of its own', () => {
    const published = services.flatMap(([name, { ports = [] }]) => ports.map((port) => [name, port] as const));
    const bound = published.map(([name, port]) => [name, /^\$\{(\w+):-127\.0\.0\.1\}:/.exec(port)?.[1]]);
    expect(Object.fromEntries(bound)).toEqual({
      api: 'BIND_ADDRESS',
      temporal: 'TEMPORAL_BIND_ADDRESS',
      'temporal-ui': 'UI_BIND_ADDRESS',
      sandbox: 'SANDBOX_BIND_ADDRESS',
      alertmanager: 'ALERTMANAGER_BIND_ADDRESS',
      grafana: 'GRAFANA_BIND_ADDRESS',
      jaeger: 'JAEGER_BIND_ADDRESS',
    });
    expect(published).toHaveLength(7);
  });

  it.each(services)('%s gains no privileges, has a read-only root and no capability', (name, s) => {
    expect(s.security_opt).toEqual(['no-new-privileges:true']);
    expect(s.read_only).toBe(true);
    expect(s.cap_drop).toEqual(['ALL']);
    expect(s.cap_add).toBeUndefined();
  });

  it.each(services)('%s may write only where it has a volume or memory', (_name, { tmpfs = [], build }) => {
    // Evidence for disputes waits in SPOOL_DIR, which is the temporary directory by default.
    if (build !== undefined) expect(tmpfs.map((mount) => mount.split(':')[0])).toEqual(['/tmp']);
    for (const mount of tmpfs) expect(mount).toMatch(/^\/[\w/]+(:[\w=,]+)?$/);
  });

  it('gives Temporal 512 history shards, which no later start can change', () => {
    expect(compose.services['temporal']?.environment?.['NUM_HISTORY_SHARDS']).toBe('512');
  });

  it('has a trace store only in a profile of its own', () => {
    expect(compose.services['jaeger']?.profiles).toEqual(['traces']);
  });

  it('lets PostgreSQL accept more connections than the pools of Temporal can hold', () => {
    const { SQL_MAX_CONNS, SQL_VIS_MAX_CONNS } = compose.services['temporal']?.environment ?? {};
    const pools = TEMPORAL_SERVICES * (Number(SQL_MAX_CONNS) + Number(SQL_VIS_MAX_CONNS));
    const [, accepted] = /max_connections=(\d+)/.exec(compose.services['postgres']?.command?.join(' ') ?? '') ?? [];
    expect(Number(accepted)).toBeGreaterThanOrEqual(pools + OTHER_CONNECTIONS);
  });

  it('starts the release of Temporal that pnpm test:postgres builds', async () => {
    const module = await readFile(`${ROOT}/tools/temporal-server/go.mod`, 'utf8');
    const [, version] = /go\.temporal\.io\/server v(\S+)/.exec(module) ?? [];
    for (const name of ['temporal', 'temporal-schema', 'temporal-namespace']) {
      expect(compose.services[name]?.image).toContain(`:-${version}}`);
    }
    expect(await readFile(`${ROOT}/.env.example`, 'utf8')).toContain(`TEMPORAL_VERSION=${version}\n`);
  });

  it.each(['BIND_ADDRESS', 'TEMPORAL_BIND_ADDRESS', 'UI_BIND_ADDRESS', 'SANDBOX_BIND_ADDRESS', 'JAEGER_BIND_ADDRESS'])(
    'has %s in .env.example, on the loopback address',
    async (name) => {
      expect(await readFile(`${ROOT}/.env.example`, 'utf8')).toMatch(new RegExp(`^${name}=127\\.0\\.0\\.1$`, 'm'));
    },
  );
});

describe('the image', async () => {
  const dockerfile = await readFile(`${ROOT}/Dockerfile`, 'utf8');

  it('runs as a user that is not root', () => {
    expect(dockerfile).toMatch(/^USER node$/m);
  });

  it('is built with the manifest of every package of the workspace', async () => {
    const { packages } = parse(await readFile(`${ROOT}/pnpm-workspace.yaml`, 'utf8')) as { packages: string[] };
    const folders = packages.map(async (pattern) => {
      if (!pattern.endsWith('/*')) return [pattern];
      const parent = pattern.slice(0, -2);
      return (await readdir(`${ROOT}/${parent}`)).map((name) => `${parent}/${name}`);
    });
    const manifests = (await Promise.all(folders)).flat().map((folder) => `${folder}/package.json`);
    expect(manifests).toContain('apps/api/package.json');
    const copied = Array.from(dockerfile.matchAll(/^COPY (\S+\/package\.json) /gm), ([, path]) => path);
    expect(new Set(copied)).toEqual(new Set(manifests));
  });

  it('is built from exact versions, with Node 24 and the pnpm of package.json', async () => {
    const { packageManager } = JSON.parse(await readFile(`${ROOT}/package.json`, 'utf8')) as { packageManager: string };
    expect(packageManager).toMatch(/^pnpm@\d+\.\d+\.\d+$/);
    expect(dockerfile).toContain(`npm install --global ${packageManager}\n`);
    const stages = Array.from(dockerfile.matchAll(/^FROM (\S+) AS (\S+)$/gm), ([, base = '', name = '']) => ({
      base,
      name,
    }));
    const names = new Set(stages.map(({ name }) => name));
    const foreign = stages.map(({ base }) => base).filter((base) => !names.has(base));
    for (const base of foreign) expect(base).toMatch(/^node:24\.\d+\.\d+-\w+-slim$/);
    expect(new Set(foreign).size).toBe(1);
  });
});
