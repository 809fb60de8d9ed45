import { fileURLToPath } from 'node:url';

import { openBrowser, type Browser } from '@tillflow/browser';

import { exchange, until, type Checkout } from './demo-http.js';
import { DEMO_TILL, demoSettings } from './demo-settings.js';
import { onInterruption } from './interruption.js';
import { startStack, type Stack } from './stack.js';

const DOCS = fileURLToPath(new URL('../../docs/', import.meta.url));
const TABLET = { width: 1_180, height: 820 };
const PHONE = { width: 400, height: 820 };
/** Runs in a page. */
const QR_DRAWN = `document.querySelector('.code img').decode()`;
/** Paper of 80 mm, in CSS pixels. */
const PAPER_PX = Math.round((80 / 25.4) * 96);

/** Makes the pictures of the documentation from a running stack. */
async function main(): Promise<number> {
  const signal = onInterruption();
  let stack: Stack | undefined;
  try {
    stack = await startStack({
      env: demoSettings(),
      onLine: () => undefined,
      log: (line) => console.log(line),
      signal,
    });
    const { browser, reason } = await openBrowser();
    if (browser === null) throw new Error(reason);
    try {
      await Promise.race([takeAll(stack, browser), stack.failure]);
    } finally {
      await browser.close();
    }
    console.log(`Written: receipt.png and counter.png in ${DOCS}`);
    return 0;
  } catch (error) {
    if (signal.aborted) return 130;
    console.error(error instanceof Error ? error.message : String(error));
    return 1;
  } finally {
    await stack?.stop();
  }
}

async function takeAll(stack: Stack, browser: Browser): Promise<void> {
  await takeReceipt(stack, browser);
  await takeCounter(stack, browser);
}

/** Opens the receipt of a paid checkout in a browser as wide as the paper. */
async function takeReceipt(stack: Stack, browser: Browser): Promise<void> {
  const { authorization } = keyOf(stack);
  const { id } = await paidCheckout(stack, authorization);
  const page = await browser.newPage({
    viewport: { width: PAPER_PX, height: 100 },
    deviceScaleFactor: 2,
    extraHTTPHeaders: { authorization, accept: 'text/html' },
  });
  await page.emulateMedia({ media: 'print' });
  await page.goto(`${stack.apiUrl}/v1/checkouts/${id}/receipt`);
  await page.screenshot({ path: `${DOCS}receipt.png`, fullPage: true });
  await page.close();
}

/** Sells at the counter: the till while the customer pays, and the customer's screen after the payment. */
async function takeCounter(stack: Stack, browser: Browser): Promise<void> {
  const { store, terminal } = DEMO_TILL;
  const [link = ''] = await stack.tillflow(
    'counter-link',
    '--terminal',
    terminal,
    '--store',
    store.id,
    '--store-name',
    store.name,
  );
  const context = await browser.newContext({ viewport: TABLET, deviceScaleFactor: 2, locale: 'en-GB' });
  const till = await context.newPage();
  await till.goto(link);
  await till.locator('body[data-screen=ready]').waitFor();
  await till.getByLabel('Note (optional)').fill('Two coffees');
  for (const key of ['1', '5', '00', '00']) await till.getByRole('button', { name: key, exact: true }).click();
  await till.locator('.pad .main').click();
  await till.locator('.code img').waitFor();
  await till.evaluate(QR_DRAWN);
  const before = await till.screenshot();
  const display = await context.newPage();
  await display.setViewportSize(PHONE);
  await display.goto(`${stack.apiUrl}/counter/display`);
  await display.locator('.code img').waitFor();
  const wallet = (await till.locator('a.open').getAttribute('href')) ?? '';
  const customer = await context.newPage();
  await customer.goto(wallet);
  await customer.getByRole('button', { name: 'Confirm payment' }).click();
  await display.locator('body[data-screen=paid]').waitFor();
  const after = await display.screenshot();
  const sheet = await context.newPage();
  await sheet.setViewportSize({ width: TABLET.width + PHONE.width + 60, height: TABLET.height + 40 });
  const image = (png: Buffer, { width }: { readonly width: number }): string =>
    `<img width="${width}" src="data:image/png;base64,${png.toString('base64')}">`;
  await sheet.setContent(
    `<body style="margin:20px;display:flex;gap:20px;background:#8a94a0">${image(before, TABLET)}${image(after, PHONE)}`,
  );
  await sheet.screenshot({ path: `${DOCS}counter.png`, scale: 'css' });
  await context.close();
}

async function paidCheckout({ apiUrl, sandboxUrl }: Stack, authorization: string): Promise<Checkout> {
  const read = (id: string): Promise<Checkout> => exchange('GET', `${apiUrl}/v1/checkouts/${id}`, { authorization });
  const body = {
    reference: 'till-7-000142',
    amount: 150_000,
    currency: 'THB',
    description: 'Two coffees',
    ...DEMO_TILL,
  };
  const { id } = await exchange<Checkout>('POST', `${apiUrl}/v1/checkouts`, { authorization }, body);
  const charge = await until('the QR code', async () => (await read(id)).attempts.at(-1)?.charge_id ?? undefined);
  await exchange('POST', `${sandboxUrl ?? ''}/__sandbox/charges/${charge}/mark`, {}, { status: 'successful' });
  return until('the payment', async () => {
    const checkout = await read(id);
    return checkout.status === 'paid' ? checkout : undefined;
  });
}

function keyOf({ settings }: Stack): { readonly authorization: string } {
  const key = settings.generatedKeys.find(({ role }) => role === 'checkout');
  if (key === undefined) throw new Error('The pictures need a stack with its own keys.');
  return { authorization: `Bearer ${key.secret}` };
}

process.exit(await main());
