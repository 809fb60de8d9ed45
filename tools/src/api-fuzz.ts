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

/** The exit code where PyPI cannot be reached, so that nothing was tried. */
const NOT_TRIED = 77;

/** The limits are not the subject: a generator sends more in a second than a till. */
const SETTINGS = { RATE_LIMIT: '100000', OPEN_RATE_LIMIT: '100000' };

/**
 * Sends requests that Schemathesis generates from the API's own description to a stack of its own, and fails on every
 * answer that the description does not promise. Further arguments go to Schemathesis.
 */
async function main(): Promise<number> {
  const schemathesis = await installed();
  if (schemathesis === null) return NOT_TRIED;
  const signal = onInterruption();
  const lines: string[] = [];
  let stack: Stack | undefined;
  try {
    stack = await startStack({
      env: { ...process.env, ...SETTINGS, API_KEYS: '', PROVIDER_BASE_URL: '' },
      onLine: (service, line) => void lines.push(`${service}: ${line}`),
      log: (line) => console.log(line),
      signal,
    });
    return await fuzz(schemathesis, stack);
  } finally {
    await stack?.stop();
  }
}

async function fuzz(schemathesis: string, { apiUrl, sandboxUrl, settings }: Stack): Promise<number> {
  const key = settings.generatedKeys.find(({ role }) => role === 'ops')?.secret ?? '';
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
        WEBHOOK_SECRET: settings.providerKeys.PROVIDER_WEBHOOK_SECRET,
        RECORDS: await seededRecords(sandboxUrl),
      },
    },
  );
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

/** Makes records that only the provider can make. @returns their ids, as JSON */
async function seededRecords(sandboxUrl = ''): Promise<string> {
  const seed = { customers: [{ cards: [{}, {}, {}] }], disputes: [{}, {}], receipts: [{}] };
  const response = await fetch(`${sandboxUrl}/__sandbox/seed`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(seed),
  });
  if (!response.ok) throw new Error(`The sandbox did not take the records: ${await response.text()}`);
  return response.text();
}

/** The path of the pinned Schemathesis in a virtual environment of its own; null where it cannot be had. */
async function installed(): Promise<string | null> {
  const requirements = `${FUZZ}requirements.txt`;
  const options = { timeout: INSTALL_WITHIN_MS };
  try {
    await mkdir(ENVIRONMENT, { recursive: true });
    await run('python3', ['-m', 'venv', ENVIRONMENT], options);
    await run(`${ENVIRONMENT}bin/pip`, ['install', '--quiet', '--requirement', requirements], options);
    return `${ENVIRONMENT}bin/schemathesis`;
  } catch (error) {
    const wanted = (await readFile(requirements, 'utf8')).trim();
    console.error(`NOT TRIED: ${wanted} cannot be installed with python3 and pip from the package index.`);
    console.error(error instanceof Error ? error.message : String(error));
    return null;
  }
}

process.exit(await main());
