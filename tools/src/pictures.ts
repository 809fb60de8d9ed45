import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { openBrowser, type Browser, type BrowserContext } from '@tillflow/browser';

import { exchange, until, type Checkout } from './demo-http.js';
import { DEMO_COUNTER, DEMO_TILL, demoSettings } from './demo-settings.js';
import { onInterruption } from './interruption.js';
import { startStack, type Stack } from './stack.js';

const DOCS = fileURLToPath(new URL('../../docs/', import.meta.url));
const TABLET = { width: 1_180, height: 820 };
const PHONE = { width: 400, height: 820 };
const WALLET = { width: 400, height: 510 };
const WINDOW = { width: 1_440, height: 1_000 };
/** How long the customer takes, in milliseconds, so that the timeline shows the wait. */
const CUSTOMER_MS = 4_000;
/** The labels below the timeline of the Temporal UI, in CSS pixels. */
const LABELS = 76;
/** Runs in a page. */
const QR_DRAWN = `document.querySelector('.code img').decode()`;
/** Paper of 80 mm, in CSS pixels. */
const PAPER_PX = Math.round((80 / 25.4) * 96);

type Box = { readonly x: number; readonly y: number; readonly width: number; readonly height: number };
/** Shown so wide, in CSS pixels. */
type Picture = { readonly png: Buffer; readonly width: number };

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
    console.log(`Written: receipt.png, counter.png and checkout.png in ${DOCS}`);
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
  await takeCheckout(stack, browser);
}

/** Opens the receipt of a paid checkout in a browser as wide as the paper. */
async function takeReceipt(stack: Stack, browser: Browser): Promise<void> {
  const { authorization } = keyOf(stack);
  const { id, attempts } = await openCheckout(stack, 'till-7-000142');
  const charge = attempts.at(-1)?.charge_id ?? '';
  await exchange('POST', `${stack.sandboxUrl ?? ''}/__sandbox/charges/${charge}/mark`, {}, { status: 'successful' });
  await untilPaid(stack, id);
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
  const [link = ''] = await stack.tillflow(...DEMO_COUNTER);
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
  await writeSheet(context, 'counter.png', [[{ png: before, ...TABLET }], [{ png: after, ...PHONE }]]);
  await context.close();
}

/** The wallet page behind the QR code, and the same checkout in the Temporal UI after the payment. */
async function takeCheckout(stack: Stack, browser: Browser): Promise<void> {
  const { uiUrl } = stack.temporal;
  if (uiUrl === undefined)
    throw new Error('The Temporal server at TEMPORAL_ADDRESS has no UI that this command knows.');
  const { id, reference, qr } = await openCheckout(stack, 'till-7-000143');
  const context = await browser.newContext({ deviceScaleFactor: 2, locale: 'en-GB', timezoneId: 'UTC' });
  const wallet = await context.newPage();
  await wallet.setViewportSize(WALLET);
  await wallet.goto(qr?.raw_data ?? '');
  const phone = await wallet.screenshot();
  await sleep(CUSTOMER_MS);
  await wallet.getByRole('button', { name: 'Confirm payment' }).click();
  await untilPaid(stack, id);
  const page = await context.newPage();
  await page.setViewportSize(WINDOW);
  await page.goto(`${uiUrl}/namespaces/default/workflows/${encodeURIComponent(`checkout/default/${reference}`)}`);
  // The oldest first.
  await page.getByRole('button', { name: 'Descending' }).click();
  const [name, timeline, last] = await Promise.all([
    boxOf(page.getByTestId('workflow-id-heading')),
    boxOf(page.getByRole('heading', { name: 'Timeline' })),
    boxOf(page.locator('button', { hasText: 'retrieveCharge' }).last()),
  ]);
  const { x } = timeline;
  const width = WINDOW.width - x - 16;
  const end = last.y + last.height + LABELS;
  const head = await page.screenshot({ clip: { x: x - 8, y: name.y - 8, width, height: name.height + 16 } });
  const events = await page.screenshot({ clip: { x: x - 8, y: timeline.y - 8, width, height: end - timeline.y } });
  await writeSheet(context, 'checkout.png', [
    [{ png: phone, width: 300 }],
    [
      { png: head, width },
      { png: events, width },
    ],
  ]);
  await context.close();
}

async function boxOf(shown: { boundingBox(): Promise<Box | null> }): Promise<Box> {
  const box = await shown.boundingBox();
  if (box === null) throw new Error('The Temporal UI does not show what the picture needs.');
  return box;
}

/** Writes columns of pictures as one picture. */
async function writeSheet(
  context: BrowserContext,
  name: string,
  columns: readonly (readonly Picture[])[],
): Promise<void> {
  const sheet = await context.newPage();
  await sheet.setViewportSize({ width: 2_000, height: 1_000 });
  const image = ({ png, width }: Picture): string =>
    `<img width="${width}" style="display:block" src="data:image/png;base64,${png.toString('base64')}">`;
  const column = (pictures: readonly Picture[]): string => `<div>${pictures.map(image).join('')}</div>`;
  await sheet.setContent(
    `<body style="margin:0;padding:20px;display:inline-flex;gap:20px;background:#8a94a0">${columns.map(column).join('')}`,
  );
  await sheet.locator('body').screenshot({ path: `${DOCS}${name}`, scale: 'css' });
  await sheet.close();
}

async function openCheckout(stack: Stack, reference: string): Promise<Checkout> {
  const body = { reference, amount: 150_000, currency: 'THB', description: 'Two coffees', ...DEMO_TILL };
  const { id } = await exchange<Checkout>('POST', `${stack.apiUrl}/v1/checkouts`, keyOf(stack), body);
  return until('the QR code', async () => {
    const checkout = await read(stack, id);
    return checkout.qr === null ? undefined : checkout;
  });
}

async function untilPaid(stack: Stack, id: string): Promise<void> {
  await until('the payment', async () => ((await read(stack, id)).status === 'paid' ? true : undefined));
}

function read(stack: Stack, id: string): Promise<Checkout> {
  return exchange('GET', `${stack.apiUrl}/v1/checkouts/${id}`, keyOf(stack));
}

function keyOf({ settings }: Stack): { readonly authorization: string } {
  const key = settings.generatedKeys.find(({ role }) => role === 'checkout');
  if (key === undefined) throw new Error('The pictures need a stack with its own keys.');
  return { authorization: `Bearer ${key.secret}` };
}

process.exit(await main());
