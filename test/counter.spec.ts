import type { Page } from '@tillflow/browser';
import { counterFiles } from '@tillflow/counter';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COUNT_TONES, NOTE_SCREENS, PHONE, plain, screensOf, seenBy, TABLET, untilScreen } from './support/counter.js';
import { accessibilityProblems } from './support/counter-pictures.js';
import { CounterShop } from './support/counter-shop.js';
import { expectOneCheckoutEach } from './support/counter-taps.js';
import { scanPicture } from './support/scan-qr.js';

const TEN_MINUTES_MS = 600_000;

let shop: CounterShop;
beforeAll(async () => {
  shop = await CounterShop.open();
});
afterAll(() => shop.close());

/** Runs in a page: the width of the QR code's image, once it is there; 0 before. */
const QR_WIDTH = `document.querySelector('.code img')?.naturalWidth ?? 0`;

describe('a sale at the counter', () => {
  it('goes from the amount to the receipt, on the till and on the screen of the customer', async () => {
    const counter = await shop.openCounter({ before: COUNT_TONES });
    const { page } = counter;
    expect(page.url()).not.toContain('#');
    const display = await counter.display();
    await untilScreen(display, 'idle');
    await page.getByLabel('Note (optional)').fill('Two coffees');
    const checkout = await shop.openSale(counter);
    expect(checkout).toMatchObject({ amount: 150_000, currency: 'THB', description: 'Two coffees' });
    await untilScreen(display, 'awaiting');
    for (const each of [page, display]) {
      await expect.poll(() => each.evaluate(QR_WIDTH)).toBeGreaterThan(0);
      expect(plain(await each.locator('.amount').textContent())).toBe('THB 1,500.00');
    }

    const wallet = await counter.context.newPage();
    await wallet.goto((await page.locator('a.open').getAttribute('href')) ?? '');
    await wallet.getByRole('button', { name: 'Confirm payment' }).click();
    await Promise.all([untilScreen(page, 'paid'), untilScreen(display, 'paid')]);

    expect(await page.evaluate('window.tones')).toBe(2);
    await counter.press('Print the receipt');
    await expect.poll(() => page.evaluate('window.printed')).toBe(1);
    await counter.press('New sale');
    await untilScreen(page, 'ready');
    await untilScreen(display, 'idle');
    await expect.poll(() => page.locator('.last li').allTextContents()).toEqual([expect.stringContaining('Paid')]);
    await expect.poll(async () => plain(await page.locator('.today').textContent())).toContain('THB 1,500.00');
    await page.locator('.last button').click();
    await untilScreen(page, 'paid');
    await counter.press('Back');
    await untilScreen(page, 'ready');
    expect(counter.problems).toEqual([]);
    await counter.close();
  });

  it('is refused on the page outside the limits, and begins at the limit', async () => {
    const counter = await shop.openCounter();
    const charge = counter.page.getByRole('button', { name: /^Charge/ });
    await counter.type('1999');
    await expect.poll(() => charge.isDisabled()).toBe(true);
    expect(plain(await counter.page.locator('.hint').textContent())).toBe('From THB 20.00 to THB 150,000.00');
    await counter.page.keyboard.press('Escape');
    await counter.page.keyboard.type('2000');
    expect(await charge.isEnabled()).toBe(true);
    await counter.close();
  });

  it('begins once for each of six double taps, and the second tap does nothing', async () => {
    const gaps = [0, 150, 250];
    await expectOneCheckoutEach(shop, { sales: 6, devices: 2, gapMs: (sale) => gaps[sale] ?? 0 });
  });

  it('that expired is paid by a new QR code, which the person asks for among the last sales, also after a reload', async () => {
    const counter = await shop.openCounter({ before: COUNT_TONES });
    const { page } = counter;
    const checkout = await shop.openSale(counter);
    await shop.stack.expireElsewhere(checkout.attempts[0]?.charge_id ?? '');
    await untilScreen(page, 'expired');
    await counter.press('New sale');
    await untilScreen(page, 'ready');
    await page.locator('.last button').click();
    await untilScreen(page, 'expired');
    await counter.press('New QR code');
    await untilScreen(page, 'awaiting');
    await page.reload();
    await untilScreen(page, 'awaiting');
    expect(await page.locator('.reference').textContent()).toBe(checkout.reference);
    // The browser permits sound after a touch.
    await page.locator('h1').click();
    shop.pay((await shop.stack.get(`/v1/checkouts/${checkout.id}`)).body);
    await untilScreen(page, 'paid');
    expect(await page.evaluate('window.tones')).toBe(2);
    await counter.close();
  });

  it('returns to the amount pad some seconds after the payment', async () => {
    const counter = await shop.openCounter({ hasOwnClock: true });
    shop.pay(await shop.openSale(counter));
    await untilScreen(counter.page, 'paid');
    await counter.context.clock.fastForward(12_000);
    await untilScreen(counter.page, 'ready');
    await counter.close();
  });

  /** The least width of the codes, in CSS pixels. Source: docs/counter.md. */
  const SIZES = { phone: { ...PHONE, code: 320, receipt: 240 }, tablet: { ...TABLET, code: 560, receipt: 320 } };
  it.each(Object.entries(SIZES))(
    'shows QR codes that a camera reads, large enough on a %s',
    async (_, { code, receipt, ...size }) => {
      const counter = await shop.openCounter({ ...size, colorScheme: 'dark' });
      const blank = await shop.browser.newPage();
      const { page } = counter;
      const expectCode = async (selector: string, text: string | null | undefined, width: number): Promise<void> => {
        const shown = page.locator(selector);
        await expect.poll(async () => scanPicture(blank, await shown.screenshot())).toBe(text);
        const box = await shown.boundingBox();
        expect(Math.min(box?.width ?? 0, box?.height ?? 0)).toBeGreaterThanOrEqual(width);
      };
      const checkout = await shop.openSale(counter);
      await expectCode('.code img', checkout.qr?.raw_data, code);
      shop.pay(checkout);
      await untilScreen(page, 'paid');
      await counter.press('Receipt as a QR code');
      const paid = await shop.stack.until(checkout.id, ({ receipt_url }) => receipt_url !== null);
      await expectCode('.qr', paid.receipt_url, receipt);
      await blank.close();
      await counter.close();
    },
  );

  it('shows its QR code when the first request for the image fails', async () => {
    const counter = await shop.openCounter({ isRouted: true });
    let failures = 0;
    await counter.page.route(/\/qr\b/, (route) => (failures++ === 0 ? route.abort() : route.continue()));
    await shop.openSale(counter);
    await expect.poll(() => counter.page.evaluate(QR_WIDTH)).toBeGreaterThan(0);
    expect(failures).toBeGreaterThan(1);
    await counter.close();
  });
});

describe('the page of the counter', () => {
  it.each([-TEN_MINUTES_MS, TEN_MINUTES_MS])(
    'counts down by the time of the API when its clock is wrong by %i ms',
    async (ms) => {
      const before = `{ const RealDate = Date; const now = Date.now.bind(Date);
      window.Date = class extends RealDate { constructor(...given) { given.length ? super(...given) : super(now() + ${ms}); } };
      window.Date.now = () => now() + ${ms}; }`;
      const counter = await shop.openCounter({ before });
      const checkout = await shop.openSale(counter);
      const [text, now] = [await counter.page.locator('[role=timer]').textContent(), Date.now()];
      const [minutes, seconds] = (text ?? '').split(':').map(Number);
      const left = (Date.parse(checkout.attempts[0]?.expires_at ?? '') - now) / 1_000;
      expect(Math.abs((minutes ?? 0) * 60 + (seconds ?? 0) - left)).toBeLessThanOrEqual(1);
      await counter.close();
    },
  );

  it('closes when its link is revoked, and a new link of the till finds the sale', async () => {
    const till = shop.newTill();
    const counter = await shop.openCounter({}, till);
    const checkout = await shop.openSale(counter);
    await shop.endLinks(till);
    await counter.page.reload();
    await untilScreen(counter.page, 'closed', 60_000);
    await counter.page.goto(await shop.link(till));
    await untilScreen(counter.page, 'awaiting');
    expect(await counter.checkoutId()).toBe(checkout.id);
    await counter.close();
  });

  it('stays at its till when another window of the browser opens the link of another till', async () => {
    const counter = await shop.openCounter();
    const checkout = await shop.openSale(counter);
    const other = await counter.window(await shop.link(shop.newTill()));
    await untilScreen(other, 'ready');
    const read = counter.page.waitForResponse('**/v1/counter-session');
    await counter.page.evaluate(`dispatchEvent(new Event('online'))`);
    await read;
    shop.pay(checkout);
    await untilScreen(counter.page, 'paid');
    expect(await counter.page.locator('.reference').textContent()).toBe(checkout.reference);
    await counter.close();
  });

  it('keeps its till through a reload beside another till in the same browser, and opens the screen of its customers', async () => {
    const tills = [shop.newTill(), shop.newTill({ id: 'sathorn', name: 'Sathorn' })] as const;
    const counter = await shop.openCounter({}, tills[0]);
    const other = await counter.window(await shop.link(tills[1]));
    await untilScreen(other, 'ready');
    const windows = [counter.page, other];
    const displays: Page[] = [];
    for (const page of windows) {
      await page.reload();
      await untilScreen(page, 'ready');
      const opened = counter.context.waitForEvent('page');
      await page.getByRole('button', { name: 'Customer screen' }).click();
      await page.getByRole('link', { name: 'Open on this device' }).click();
      displays.push(await opened);
    }
    for (const display of displays) {
      await untilScreen(display, 'idle');
      await display.reload();
      await untilScreen(display, 'idle');
    }
    for (const [at, { terminal, store }] of tills.entries()) {
      expect(await windows[at]?.locator('.names').textContent()).toContain(terminal);
      expect(await displays[at]?.locator('.names').textContent()).toContain(store?.name);
    }
    await counter.close();
  });

  it('goes on after something other than the API refuses a request of each kind, as the page of a Wi-Fi does', async () => {
    const counter = await shop.openCounter({ before: NOTE_SCREENS, isRouted: true });
    const { page } = counter;
    const left = new Set([
      /^GET .*\/counter-session$/,
      /^GET .*\/availability$/,
      /^POST .*\/checkouts$/,
      /^GET .*\/checkouts\/[^/]+$/,
      /^GET .*\/events$/,
    ]);
    await page.route('**/v1/**', (route) => {
      const request = route.request();
      const name = `${request.method()} ${new URL(request.url()).pathname}`;
      const kind = [...left].find((each) => each.test(name));
      if (kind === undefined) return route.continue();
      left.delete(kind);
      return route.fulfill({ status: 403, contentType: 'text/html', body: '<h1>Sign in to the Wi-Fi</h1>' });
    });
    // The page looks again when its network is back, and otherwise every few seconds.
    await page.evaluate(`dispatchEvent(new Event('online'))`);
    await expect.poll(() => left.size).toBe(3);
    const checkout = await shop.openSale(counter);
    await expect.poll(() => left.size).toBe(0);
    shop.pay(checkout);
    await untilScreen(page, 'paid');
    expect(screensOf(await seenBy(page))).not.toContain('closed');
    await counter.close();
  });

  it.each([
    ['th-TH', 'จำนวนเงิน', '฿1,500.00'],
    ['ms-MY', 'Jumlah', 'THB 1,500.00'],
    ['zh-CN', '金额', 'THB 1,500.00'],
    ['fr-FR', 'Amount', 'THB 1,500.00'],
  ])('speaks the language of %s, and writes amounts in it', async (locale, title, amount) => {
    const counter = await shop.openCounter({ locale });
    await counter.type('150000');
    expect(await counter.page.locator('h1').textContent()).toBe(title);
    expect(plain(await counter.page.locator('output').textContent())).toBe(amount);
    expect(await accessibilityProblems(counter.page)).toEqual([]);
    await counter.close();
  });

  it('is at most 60 KB, compressed', () => {
    const sizes = counterFiles().map(({ bytes, gzip }) => (gzip ?? bytes).length);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(60_000);
  });
});
