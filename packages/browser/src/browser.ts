import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import Packed from '@sparticuz/chromium';
import { chromium, type Browser } from 'playwright-core';

/** A browser, or the reason why it cannot start. */
export type OpenedBrowser =
  | { readonly browser: Browser; readonly reason: null }
  | { readonly browser: null; readonly reason: string };

type Executable = { readonly path: string; readonly args: readonly string[] };

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** The browser reaches only this machine. */
const ARGS = [
  '--disable-domain-reliability',
  '--no-pings',
  '--disable-dev-shm-usage',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
];

/**
 * With a single process the browser ends with its first window. The other flags would hide forbidden requests of a
 * page.
 */
const UNFIT = new Set(['--single-process', '--disable-web-security', '--allow-running-insecure-content']);

/**
 * A Chromium from the setting `CHROMIUM_PATH`, from PATH, or out of the npm package, in this order.
 * @throws when the one that `CHROMIUM_PATH` names does not start.
 */
export async function openBrowser(): Promise<OpenedBrowser> {
  const { CHROMIUM_PATH = '' } = process.env;
  if (CHROMIUM_PATH !== '') return { browser: await launch({ path: CHROMIUM_PATH, args: [] }), reason: null };
  const found = onPath() ?? (await unpacked());
  if (typeof found === 'string') return { browser: null, reason: found };
  try {
    return { browser: await launch(found), reason: null };
  } catch (error) {
    return { browser: null, reason: `${found.path} does not start: ${firstLine(error)}. Set CHROMIUM_PATH.` };
  }
}

async function launch({ path, args }: Executable): Promise<Browser> {
  const isRoot = process.getuid?.() === 0;
  return await chromium.launch({
    executablePath: path,
    args: [...ARGS, ...(isRoot ? ['--no-sandbox'] : []), ...args.filter((arg) => !UNFIT.has(arg))],
    headless: true,
  });
}

function onPath(): Executable | null {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const path = NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find((each) => existsSync(each));
  return path === undefined ? null : { path, args: [] };
}

/** The package contains one executable, for Linux on x64. */
async function unpacked(): Promise<Executable | string> {
  const remedy = 'put a chromium on PATH or set CHROMIUM_PATH';
  if (process.platform !== 'linux' || process.arch !== 'x64') return `no browser on this machine: ${remedy}`;
  try {
    return { path: await Packed.executablePath(), args: Packed.args };
  } catch (error) {
    return `no browser could be unpacked (${firstLine(error)}): ${remedy}`;
  }
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}
