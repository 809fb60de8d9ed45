import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { onInterruption } from './interruption.js';
import { startStack, type Stack } from './stack.js';

const run = promisify(execFile);

const FUZZ = fileURLToPath(new URL('../../apps/api/fuzz/', import.meta.url));
const ENVIRONMENT = fileURLToPath(new URL('../../node_modules/.cache/tillflow/schemathesis/', import.meta.url));
const INSTALL_WITHIN_MS = 180_000;
/** A run takes some minutes. */
const FUZZ_WITHIN_MS = 1_200_000;

/** The exit code when Schemathesis cannot be downloaded. */
const NOT_TRIED = 77;

/** The generator sends more requests in a second than a till. */
const SETTINGS = { RATE_LIMIT: '100000', OPEN_RATE_LIMIT: '100000' };

/**
 * Starts a stack, and sends it requests that Schemathesis generates from the API's description. Fails on every answer
 * that the description does not permit. Further arguments go to Schemathesis.
 */
async function main(): Promise<number> {
  const schemathesis = await installed();
  if (schemathesis === null) return NOT_TRIED;
  const signal = onInterruption();
  let stack: Stack | undefined;
  try {
    stack = await startStack({
      env: { ...process.env, ...SETTINGS, API_KEYS: '', PROVIDER_BASE_URL: '' },
      onLine: () => undefined,
      log: (line) => console.log(line),
      signal,
    });
    return await fuzz(schemathesis, stack);
  } finally {
    await stack?.stop();
  }
}

async function fuzz(schemathesis: string, { apiUrl, sandboxUrl, settings }: Stack): Promise<number> {
  const { providerKeys, generatedKeys } = settings;
  const key = generatedKeys.find(({ role }) => role === 'ops')?.secret ?? '';
  await seedRecords(sandboxUrl);
  const child = spawn(
    schemathesis,
    [
      '--config-file',
      `${FUZZ}schemathesis.toml`,
      'run',
      `${apiUrl}/openapi.json`,
      '--header',
      `Authorization: Bearer ${key}`,
      ...process.argv.slice(2),
    ],
    {
      stdio: 'inherit',
      env: {
        ...process.env,
        PYTHONPATH: FUZZ,
        WEBHOOK_SECRET: providerKeys.PROVIDER_WEBHOOK_SECRET,
        WEBHOOK_URI: `${apiUrl}/webhooks/provider`,
        SOURCE: await sourceOf(providerKeys.PROVIDER_PUBLIC_KEY, sandboxUrl),
      },
      timeout: FUZZ_WITHIN_MS,
      killSignal: 'SIGINT',
    },
  );
  const [code] = (await once(child, 'exit')) as [number | null];
  if (child.killed) console.error(`Schemathesis did not finish within ${FUZZ_WITHIN_MS / 60_000} minutes`);
  return child.killed ? 1 : (code ?? 1);
}

/** Creates records that the API cannot create. The examples of the description name them. */
async function seedRecords(sandboxUrl = ''): Promise<void> {
  const seed = {
    customers: [{ id: 'cust_test_3m1kq0v7d2', cards: [{ id: 'card_test_8f0z5x2c1b' }, {}] }],
    disputes: [{ id: 'dspt_test_1w4e7r0t3y' }],
    receipts: [{}],
  };
  const response = await fetch(`${sandboxUrl}/__sandbox/seed`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(seed),
  });
  if (!response.ok) throw new Error(`The sandbox refused the records: ${await response.text()}`);
}

/** @returns a source that a client made, as JSON */
async function sourceOf(publicKey: string, sandboxUrl = ''): Promise<string> {
  const response = await fetch(`${sandboxUrl}/sources`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${publicKey}:`)}` },
    body: new URLSearchParams({ type: 'wallet_mpm', amount: '150000', currency: 'THB' }),
  });
  if (!response.ok) throw new Error(`The sandbox refused the source: ${await response.text()}`);
  return response.text();
}

/**
 * The path of the pinned Schemathesis in a virtual environment of its own; null when it cannot be downloaded.
 * @throws {Error} when `python3` cannot make the environment
 */
async function installed(): Promise<string | null> {
  const requirements = `${FUZZ}requirements.txt`;
  const options = { timeout: INSTALL_WITHIN_MS };
  await mkdir(ENVIRONMENT, { recursive: true });
  await run('python3', ['-m', 'venv', ENVIRONMENT], options);
  try {
    await run(`${ENVIRONMENT}bin/pip`, ['install', '--quiet', '--requirement', requirements], options);
    return `${ENVIRONMENT}bin/schemathesis`;
  } catch (error) {
    const wanted = (await readFile(requirements, 'utf8')).trim();
    console.error(error instanceof Error ? error.message : String(error));
    console.error(`NOT TRIED: pip cannot download ${wanted}. The API was not tested with generated requests.`);
    return null;
  }
}

process.exit(await main());
