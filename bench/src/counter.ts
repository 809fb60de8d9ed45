import { setTimeout as sleep } from 'node:timers/promises';
import { checkoutId, DEFAULT_ACCOUNT } from '@tillflow/domain';
import { openBrowser, type Browser, type BrowserContext, type Page } from '@tillflow/browser';
import { CutLine } from '@tillflow/tools';
import { API_KEY, Engine } from './stack.js';
import { print, report } from './report.js';
import { percentile } from './statistics.js';

const FULL = { loads: 10, sales: 60, losses: 20 } as const;
const QUICK = { loads: 3, sales: 5, losses: 2 } as const;
/** A slow tablet. */
const CPU_SLOWDOWN = 4;
/** How long the device has no network before the customer pays. Milliseconds. */
const OFFLINE_MS = 2_000;
const TILL = 'bench-till';

/** Runs in a page: notes when each screen appears, by the machine's clock. */
const NOTE_SCREENS = `
  window.seen = {};
  new MutationObserver(() => {
    const { screen } = document.body?.dataset ?? {};
    if (screen !== undefined) window.seen[screen] ??= Date.now();
  }).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ['data-screen'] });
`;

type Place = {
  readonly engine: Engine;
  readonly apiUrl: string;
  readonly line: CutLine;
  readonly context: BrowserContext;
  readonly till: Page;
  readonly display: Page;
};

/** Measures the counter in a real browser: its first load, and how soon it shows a payment. */
export async function benchCounter({ quick }: { readonly quick: boolean }): Promise<boolean> {
  const counts = quick ? QUICK : FULL;
  const { browser, reason } = await openBrowser();
  if (browser === null) throw new Error(reason);
  const engine = await Engine.start();
  const worker = await engine.startWorker();
  const api = await engine.startApi();
  const line = await CutLine.to(new URL(api.address).host);
  try {
    print(`counter: ${counts.loads} loads, ${counts.sales} sales, ${counts.losses} lost connections`);
    const link = await counterLink(api.address, line);
    const loads: Load[] = [];
    for (let load = 0; load < counts.loads; load += 1) loads.push(await firstLoad(browser, link));
    const context = await browser.newContext({ locale: 'en' });
    await context.addInitScript(NOTE_SCREENS);
    const till = await context.newPage();
    await till.goto(link);
    const display = await context.newPage();
    await display.goto(new URL('/counter/display', link).href);
    const place = { engine, apiUrl: api.address, line, context, till, display };
    const paid: number[] = [];
    for (let sale = 0; sale < counts.sales; sale += 1) paid.push(...(await sellOnce(place, false)));
    const back: number[] = [];
    for (let sale = 0; sale < counts.losses; sale += 1) back.push(...(await sellOnce(place, true)));
    const bound = (atMost: number) => (quick ? {} : { bound: { atMost } });
    return await report(
      'counter',
      [
        {
          name: 'first load, compressed',
          value: Math.max(...loads.map(({ bytes }) => bytes)) / 1_000,
          unit: 'KB',
          digits: 1,
          ...bound(60),
        },
        {
          name: `interactive, CPU slowed ${CPU_SLOWDOWN} times, p50`,
          value: percentile(
            loads.map(({ ms }) => ms),
            0.5,
          ),
          unit: 'ms',
        },
        {
          name: `interactive, CPU slowed ${CPU_SLOWDOWN} times, p95`,
          value: percentile(
            loads.map(({ ms }) => ms),
            0.95,
          ),
          unit: 'ms',
          ...bound(1_500),
        },
        { name: 'payment → paid on both screens, p50', value: percentile(paid, 0.5), unit: 'ms' },
        { name: 'payment → paid on both screens, p95', value: percentile(paid, 0.95), unit: 'ms', ...bound(1_500) },
        {
          name: 'network back → right on both screens, p95',
          value: percentile(back, 0.95),
          unit: 'ms',
          ...bound(5_000),
        },
      ],
      { loads, paid, back },
    );
  } finally {
    await browser.close();
    line.close();
    await api.stop();
    await worker.stop();
    await engine.stop();
  }
}

/** A link whose pages reach the API over the line. */
async function counterLink(apiUrl: string, line: CutLine): Promise<string> {
  const response = await fetch(`${apiUrl}/v1/counter-links`, {
    method: 'POST',
    headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ terminal: TILL }),
  });
  const { pathname, hash } = new URL(((await response.json()) as { readonly url: string }).url);
  return `http://${line.address}${pathname}${hash}`;
}

type Load = { readonly bytes: number; readonly ms: number };

/** A device opens the counter for the first time: until a person can type an amount. */
async function firstLoad(browser: Browser, link: string): Promise<Load> {
  // The service worker loads the files again, in the background.
  const context = await browser.newContext({ serviceWorkers: 'block' });
  await context.addInitScript(NOTE_SCREENS);
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: CPU_SLOWDOWN });
  await devtools.send('Network.enable');
  let bytes = 0;
  devtools.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength));
  await page.goto(link);
  await page.locator('body[data-screen=ready]').waitFor();
  const ms = await page.evaluate<number>('window.seen.ready - performance.timeOrigin');
  await context.close();
  return { bytes, ms };
}

/** @returns how long after the payment, or after the network is back, each screen shows it, in milliseconds. */
async function sellOnce(place: Place, isLost: boolean): Promise<number[]> {
  const { till, display, context, line } = place;
  await till.locator('body[data-screen=ready]').waitFor();
  await display.locator('body[data-screen=idle]').waitFor();
  for (const page of [till, display]) await page.evaluate('window.seen = {}');
  for (const key of ['5', '00', '00']) await till.getByRole('button', { name: key, exact: true }).click();
  await till.locator('.pad .main').click();
  for (const page of [till, display]) await page.locator('.code img').waitFor();
  if (isLost) {
    await context.setOffline(true);
    // The emulation leaves the streams that are open.
    line.cut();
    await sleep(OFFLINE_MS);
  }
  const reference = await till.locator('.reference').textContent();
  const from = await pay(place, reference ?? '');
  if (isLost) await sleep(OFFLINE_MS);
  const back = Date.now();
  if (isLost) {
    line.mend();
    await context.setOffline(false);
  }
  const shown: number[] = [];
  for (const page of [till, display]) {
    await page.locator('body[data-screen=paid]').waitFor();
    shown.push((await page.evaluate<number>('window.seen.paid')) - (isLost ? back : from));
  }
  await till.getByRole('button', { name: 'New sale' }).click();
  return shown;
}

/** @returns when the customer paid, by the machine's clock. */
async function pay({ engine, apiUrl }: Place, reference: string): Promise<number> {
  const response = await fetch(`${apiUrl}/v1/checkouts/${checkoutId({ account: DEFAULT_ACCOUNT, reference })}`, {
    headers: { authorization: `Bearer ${API_KEY}` },
  });
  const { attempts } = (await response.json()) as { readonly attempts: readonly { readonly charge_id: string }[] };
  const from = Date.now();
  await engine.sandbox.call('POST', `/charges/${attempts[0]?.charge_id ?? ''}/mark_as_paid`);
  return from;
}
