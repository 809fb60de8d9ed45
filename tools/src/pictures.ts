import { fileURLToPath } from 'node:url';

import { openBrowser } from '@tillflow/browser';

import { exchange, until, type Checkout } from './demo-http.js';
import { DEMO_TILL, demoSettings } from './demo-settings.js';
import { onInterruption } from './interruption.js';
import { startStack, type Stack } from './stack.js';

const RECEIPT = fileURLToPath(new URL('../../docs/receipt.png', import.meta.url));
/** Paper of 80 mm, in CSS pixels. */
const PAPER_PX = Math.round((80 / 25.4) * 96);

/** Makes the pictures of the documentation from a running stack: `docs/receipt.png`. */
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
    await Promise.race([takeReceipt(stack), stack.failure]);
    console.log(`Written: ${RECEIPT}`);
    return 0;
  } catch (error) {
    if (signal.aborted) return 130;
    console.error(error instanceof Error ? error.message : String(error));
    return 1;
  } finally {
    await stack?.stop();
  }
}

/** Opens the receipt of a paid checkout in a browser as wide as the paper. */
async function takeReceipt(stack: Stack): Promise<void> {
  const { authorization } = keyOf(stack);
  const { id } = await paidCheckout(stack, authorization);
  const { browser, reason } = await openBrowser();
  if (browser === null) throw new Error(reason);
  try {
    const page = await browser.newPage({
      viewport: { width: PAPER_PX, height: 100 },
      deviceScaleFactor: 2,
      extraHTTPHeaders: { authorization, accept: 'text/html' },
    });
    await page.emulateMedia({ media: 'print' });
    await page.goto(`${stack.apiUrl}/v1/checkouts/${id}/receipt`);
    await page.screenshot({ path: RECEIPT, fullPage: true });
  } finally {
    await browser.close();
  }
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
