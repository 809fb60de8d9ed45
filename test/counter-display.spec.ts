import type { Page } from '@tillflow/browser';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { forgetSeen, NOTE_SCREENS, screensOf, seenBy, untilRight, untilScreen } from './support/counter.js';
import { CounterShop, PLACES } from './support/counter-shop.js';
import { SALE_STATES } from './support/counter-states.js';
import { FULL } from './support/full.js';
import { scanPicture } from './support/scan-qr.js';
import { chargeIdOf, type CheckoutJson } from './support/stack.js';

/** How long an end stays on the customer's screen. Milliseconds. */
const END_STAYS_MS = 12_000;
/** When the person at the till may leave a sale without an end. Milliseconds. */
const LEAVE_AFTER_MS = 20_000;

let shop: CounterShop;
beforeAll(async () => {
  shop = await CounterShop.open();
});
afterAll(() => shop.close());

/** Runs in a page: where the QR code comes from. */
const CODE = `document.querySelector('.code img')?.src ?? ''`;

/** On another device, it shows the same: `pnpm test` follows one sale there. */
const ROWS = [
  [PLACES[0], {}],
  [PLACES[1], FULL],
] as const;

describe.each(ROWS)('the screen of the customer %s', (place, options) => {
  it('follows a sale from the QR code to the payment, and then welcomes the next customer', async () => {
    const { counter, display } = await shop.openBoth(place, { hasOwnClock: true });
    const checkout = await shop.openSale(counter);
    await untilScreen(display, 'awaiting');
    const blank = await shop.browser.newPage();
    await expect
      .poll(async () => scanPicture(blank, await display.locator('.code img').screenshot()))
      .toBe(checkout.qr?.raw_data);
    shop.pay(checkout);
    await untilScreen(display, 'paid');
    await display.clock.fastForward(END_STAYS_MS);
    await untilScreen(display, 'idle');
    await blank.close();
    expect(counter.problems).toEqual([]);
    await counter.close();
  });

  it('shows the new QR code of a sale that has expired and disappeared', options, async () => {
    const { counter, display } = await shop.openBoth(place, { hasOwnClock: true });
    const checkout = await shop.openSale(counter);
    await untilScreen(display, 'awaiting');
    await shop.stack.expireElsewhere(chargeIdOf(checkout));
    for (const page of [counter.page, display]) await untilScreen(page, 'expired');
    await display.clock.fastForward(END_STAYS_MS);
    await untilScreen(display, 'idle');
    await counter.press('New QR code');
    await untilScreen(counter.page, 'awaiting');
    await untilScreen(display, 'awaiting');
    const codes = await Promise.all([counter.page, display].map((page) => page.evaluate<string>(CODE)));
    expect(codes[0]).not.toBe('');
    expect(codes[1]).toBe(codes[0]);
    await counter.close();
  });

  it('never goes back to a sale that the person at the till has left', options, async () => {
    const opened = { before: NOTE_SCREENS, hasOwnClock: true, isRouted: true };
    const { counter, display } = await shop.openBoth(place, opened);
    const { stack } = shop;
    await SALE_STATES['unknown']?.reach(counter, shop);
    for (const page of [counter.page, display]) await untilScreen(page, 'unknown');
    const left = await counter.checkoutId();
    await counter.context.clock.fastForward(LEAVE_AFTER_MS);
    await counter.press('Next customer');
    await untilScreen(counter.page, 'ready');

    const second = await shop.openSale(counter, '3000');
    await untilScreen(display, 'awaiting');
    await forgetSeen(display);
    // A list may show a new sale late, and show the old one as the newest meanwhile.
    const late = await showLate(display, (id) => id !== left);
    shop.pay(second);
    await untilScreen(display, 'paid');
    await late.untilRead();
    await counter.press('New sale');
    await untilScreen(counter.page, 'ready');
    await display.clock.fastForward(END_STAYS_MS);
    await untilScreen(display, 'idle');
    await late.untilRead();
    await late.end();
    await shop.openSale(counter, '4000');
    await untilScreen(display, 'awaiting');
    const amounts = new Set((await seenBy(display)).map(({ amount }) => amount));
    expect([...amounts].filter((amount) => amount !== '')).toEqual(['THB 30.00', 'THB 40.00']);
    stack.sandbox.faults.clear();
    await counter.close();
  });

  it('finds the sale again after a reload while the customer can pay', options, async () => {
    const { counter, display } = await shop.openBoth(place, { before: NOTE_SCREENS });
    await shop.openSale(counter);
    await untilScreen(display, 'awaiting');
    await display.reload();
    await untilRight(display, 'awaiting');
    expect(screensOf(await seenBy(display))).not.toContain('creating');
    await counter.close();
  });
});

it('the screen of the customer goes on when its link has ended and the till has a new one', async () => {
  const till = shop.newTill();
  const counter = await shop.openCounter({}, till);
  const display = await counter.display();
  await untilScreen(display, 'idle');
  await shop.endLinks(till);
  await untilScreen(display, 'closed', 60_000);
  await counter.page.goto(await shop.link(till));
  await untilScreen(counter.page, 'ready');
  await untilScreen(display, 'idle');
  await shop.openSale(counter);
  await untilScreen(display, 'awaiting');
  await counter.close();
});

/** Lists show the page no sale of these, until the end. The page gets an answer without a list as it is. */
async function showLate(page: Page, isLate: (id: string) => boolean) {
  let reads = 0;
  await page.route(/\/v1\/checkouts\?/, async (route) => {
    const response = await route.fetch();
    if (!response.ok()) return route.fulfill({ response });
    const body = (await response.json()) as { data: CheckoutJson[] };
    await route.fulfill({ response, json: { ...body, data: body.data.filter(({ id }) => !isLate(id)) } });
    reads += 1;
  });
  return {
    /** Waits until the page has read such a list once more. */
    untilRead: async (): Promise<void> => {
      const before = reads;
      await expect.poll(() => reads).toBeGreaterThan(before);
    },
    end: () => page.unroute(/\/v1\/checkouts\?/),
  };
}

it('the screen of the customer opens on the device that scans the code of the till', async () => {
  const counter = await shop.openCounter();
  const blank = await shop.browser.newPage();
  await counter.press('Customer screen');
  const address = await scanPicture(blank, await counter.page.locator('.customer-screen .qr').screenshot());
  const display = await counter.display(address);
  await untilScreen(display, 'idle');
  expect(display.url()).not.toContain('#');
  const checkout = await shop.openSale(counter);
  await untilScreen(display, 'awaiting');
  shop.pay(checkout);
  await untilScreen(display, 'paid');
  await blank.close();
  await counter.close();
});
