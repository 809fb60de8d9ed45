import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ACCESSIBILITY_PROBLEMS, openBrowser, type OpenedBrowser } from '@tillflow/browser';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, type TestContext } from 'vitest';
import { scanQr } from '../../../../test/support/scan-qr.js';
import { openReceiver, openSandbox, type Bench } from '../../test/harness.js';
import { createCharge, walletOf } from '../../test/pages.js';
import type { ChargeJson } from '../index.js';

const AT = '2026-03-10T09:00:00.000Z';
const PHONE: BrowserContextOptions = { viewport: { width: 320, height: 640 }, hasTouch: true };

let opened: OpenedBrowser = { browser: null, reason: 'the browser was not opened' };
beforeAll(async () => {
  opened = await openBrowser();
});
afterAll(async () => {
  await opened.browser?.close();
});

/**
 * A window of the browser, or a test that is skipped. An error that a page reports fails the test. Opened after the
 * sandbox, it is closed before it, which would wait for the window's connections.
 */
async function openPage(test: TestContext, options: BrowserContextOptions = {}): Promise<Page> {
  if (opened.browser === null) return test.skip(opened.reason);
  const context = await opened.browser.newContext(options);
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (line) => {
    // The console also reports the status of a refusal as an error.
    if (line.type() === 'error' && !line.text().startsWith('Failed to load resource')) errors.push(line.text());
  });
  onTestFinished(async () => {
    await context.close();
    expect(errors).toEqual([]);
  });
  return page;
}

const openAt = (): Promise<Bench> => openSandbox({ now: AT, frozen: true });
const stateOf = ({ sandbox }: Bench): Partial<ChargeJson> | undefined => sandbox.state(['charges']).charges?.[0];
const dashboard = ({ url }: Bench, path = ''): string => `${url}/dashboard${path}`;

/** Presses Tab until the control with that name has the focus, which must be visible. */
async function tabTo(page: Page, name: string): Promise<void> {
  const seen: string[] = [];
  while (seen.length < 40) {
    await page.keyboard.press('Tab');
    const [text = '', outline = ''] = await page.evaluate<string[]>(`(() => {
      const at = document.activeElement;
      return [(at.labels?.[0] ?? at).textContent.trim(), getComputedStyle(at).outlineStyle];
    })()`);
    seen.push(text);
    if (text !== name) continue;
    expect(outline).not.toBe('none');
    return;
  }
  throw new Error(`Tab never came to ${name}, but to ${seen.join(', ')}`);
}

describe('a customer', () => {
  it('scans, opens the wallet, and confirms by keyboard alone', async (test) => {
    const bench = await openAt();
    const page = await openPage(test, PHONE);
    const charge = await createCharge(bench, { 'source[store_name]': 'Baan Coffee' });
    const image = await fetch(charge.source?.scannable_code?.image.download_uri ?? '');
    await page.goto(scanQr(await image.text()) ?? '');
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Pay Baan Coffee');
    await tabTo(page, 'Confirm payment');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Paid' }).waitFor();
    expect(stateOf(bench)?.status).toBe('successful');
    // The outcome has the focus, so that it is what a screen reader says.
    await page.locator('h1:focus', { hasText: 'Paid' }).waitFor();
  });

  it('who presses twice pays once', async (test) => {
    const bench = await openAt();
    const page = await openPage(test, PHONE);
    const charge = await createCharge(bench);
    await page.goto(walletOf(charge));
    await page.getByRole('button', { name: 'Confirm payment' }).dblclick();
    await page.getByRole('heading', { name: 'Paid' }).waitFor();
    expect(bench.sandbox.state().transactions).toHaveLength(1);
    expect(bench.sandbox.state().events).toHaveLength(2);
  });

  it('sees the QR code expire without reloading the page', async (test) => {
    const bench = await openAt();
    const page = await openPage(test, PHONE);
    await page.goto(walletOf(await createCharge(bench)));
    await page.getByRole('heading', { name: 'Pay' }).waitFor();
    bench.sandbox.advance(86_400);
    await page.getByRole('heading', { name: 'This code has expired' }).waitFor();
    expect(await page.getByRole('button').count()).toBe(0);
  });

  it('needs no script', async (test) => {
    const bench = await openAt();
    const page = await openPage(test, { ...PHONE, javaScriptEnabled: false });
    await page.goto(walletOf(await createCharge(bench)));
    await page.getByRole('button', { name: 'Confirm payment' }).click();
    await page.getByRole('heading', { name: 'Paid' }).waitFor();
    expect(stateOf(bench)?.status).toBe('successful');
  });
});

describe('a merchant', () => {
  it('marks a charge successful in the list, by keyboard alone', async (test) => {
    const bench = await openAt();
    const page = await openPage(test);
    const charge = await createCharge(bench);
    await page.goto(dashboard(bench));
    await tabTo(page, `Mark successful ${charge.id}`);
    await page.keyboard.press('Space');
    await page.getByText('The charge is marked successful.').waitFor();
    expect(stateOf(bench)?.status).toBe('successful');
  });

  it('sees a payment arrive without reloading, and keeps the value that is being chosen in a form', async (test) => {
    const bench = await openAt();
    const page = await openPage(test);
    const charge = await createCharge(bench);
    await page.goto(dashboard(bench, `/charges/${charge.id}`));
    await page.getByLabel('Reason').focus();
    bench.sandbox.mark(charge.id, { status: 'successful' });
    await page.getByText('This page has changed.').waitFor();
    expect(await page.getByLabel('Reason').count()).toBe(1);
    await page.evaluate('document.activeElement.blur()');
    await page.getByRole('heading', { name: 'Refund', exact: true }).waitFor();
  });

  it('needs no script', async (test) => {
    const bench = await openAt();
    const page = await openPage(test, { javaScriptEnabled: false });
    await createCharge(bench);
    await page.goto(dashboard(bench));
    await page.getByRole('button', { name: 'Mark failed' }).click();
    await page.getByText('The charge is marked failed.').waitFor();
    expect(stateOf(bench)?.status).toBe('failed');
  });
});

it('a page of another site cannot submit a form of the sandbox', async (test) => {
  const bench = await openAt();
  const page = await openPage(test);
  const charge = await createCharge(bench);
  const site = createServer((_request, response) => {
    response.setHeader('Content-Type', 'text/html');
    const field = '<input type="hidden" name="decision" value="confirm">';
    response.end(`<form method="post" action="${walletOf(charge)}">${field}<button>You have won</button></form>`);
  });
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    site.closeAllConnections();
    site.close();
  });
  await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`);
  await page.getByRole('button', { name: 'You have won' }).click();
  await page.getByText('A page of another site sent this').waitFor();
  expect(stateOf(bench)?.status).toBe('pending');
});

it('every page works with a phone, a keyboard and a screen reader, in light and dark colours', async (test) => {
  const bench = await openAt();
  const receiver = await openReceiver((index) => (index === 0 ? 500 : 200));
  bench.sandbox.webhooks.configure({ url: receiver.url });
  const long = 'x'.repeat(200);
  const texts = { description: long, 'metadata[order]': long, 'source[store_name]': long };
  const [pending, reviewed, paid, refunded, failed, expired] = await Promise.all(
    Array.from({ length: 6 }, () => createCharge(bench, { ...texts, amount: '15000000' })),
  );
  for (const charge of [paid, refunded]) bench.sandbox.mark(charge?.id ?? '', { status: 'successful' });
  bench.sandbox.mark(reviewed?.id ?? '', { status: 'confirming' });
  bench.sandbox.mark(failed?.id ?? '', { status: 'failed', failure_code: 'insufficient_fund' });
  await bench.call('POST', `/charges/${refunded?.id}/refunds`, { form: { amount: 1 } });
  await bench.call('POST', `/charges/${expired?.id}/expire`);
  await bench.sandbox.webhooks.idle();
  const charges = [pending, reviewed, paid, refunded, failed, expired].filter((charge) => charge !== undefined);
  const paths = ['', '?done=failed', '?status=voided'];
  const addresses = [
    ...paths.map((path) => dashboard(bench, path)),
    ...charges.map(({ id }) => dashboard(bench, `/charges/${id}`)),
    ...charges.map(walletOf),
    `${bench.url}/wallet/unknown`,
  ];
  for (const width of [320, 1_280]) {
    const page = await openPage(test, { viewport: { width, height: 640 } });
    for (const address of addresses) {
      await page.goto(address);
      for (const details of await page.locator('details').all()) await details.locator('summary').click();
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        const problems = await page.evaluate(ACCESSIBILITY_PROBLEMS);
        expect({ address, width, colorScheme, problems }).toEqual({ address, width, colorScheme, problems: [] });
      }
    }
  }
});
