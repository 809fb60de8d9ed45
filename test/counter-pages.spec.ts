import type { Page } from '@tillflow/browser';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Counter, ENDS_STAY, lookAgain, untilScreen } from './support/counter.js';
import { expectUsable, listPictures } from './support/counter-pictures.js';
import { CounterShop } from './support/counter-shop.js';
import { chargeIdOf } from './support/stack.js';
import { operatorOf, tillflow } from './support/tillflow.js';

let shop: CounterShop;
beforeAll(async () => {
  shop = await CounterShop.open();
});
afterAll(async () => {
  await listPictures();
  await shop.close();
});

describe('the page without a sale', () => {
  it('shows the amount pad, and the customer a welcome', async () => {
    const counter = await shop.openCounter();
    const display = await counter.display();
    await display.getByRole('heading', { name: 'Welcome' }).waitFor();
    await counter.type('150000');
    await expectUsable(counter.page, 'till', 'amount pad');
    await expectUsable(display, 'display', 'welcome');
    expect(counter.problems).toEqual([]);
    await counter.close();
  });

  it('says why a sale did not begin, and before the next sale that payments are paused, until they are taken again', async () => {
    const till = shop.newTill();
    const counter = await shop.openCounter({ isRouted: true }, till);
    const { page } = counter;
    const operate = (...args: string[]) => tillflow(args, operatorOf(shop.stack));
    const available = async () => (await shop.stack.get<{ accepting: boolean }>('/v1/availability')).body.accepting;
    // The page has just read that payments are taken.
    await page.route('**/v1/availability', (route) => route.abort());
    await operate('pause', '--reason', 'the bank is down');
    try {
      await expect.poll(available).toBe(false);
      await counter.sell();
      await page.getByRole('alert').getByText('QR payments are paused. The customer has not paid.').waitFor();
      expect(await shop.checkoutsOf(till)).toEqual([]);
      await expectUsable(page, 'till', 'refused');
      await page.unroute('**/v1/availability');
      await counter.type('150000');
      await expectPaused(counter, 'paused', 'An operator has paused QR payments: the bank is down');
    } finally {
      await operate('resume');
    }
    await expect.poll(() => mainNow(page)).toContain('Charge');
    expect(await page.locator('.pad .main').isEnabled()).toBe(true);
    await counter.close();
  });

  it('says before a sale that the provider does not answer', async () => {
    const counter = await shop.openCounter({ isRouted: true });
    // What the API answers during an outage: test/availability.spec.ts.
    const since = new Date().toISOString();
    const outage = {
      accepting: false,
      reason: 'The payment provider does not answer',
      since,
      provider: { status: 'failing', since },
    };
    await counter.page.route('**/v1/availability', async (route) => {
      const response = await route.fetch();
      // A page that closes meanwhile disposes of the answer.
      const shown = (await response.json().catch(() => ({}))) as object;
      await route.fulfill({ response, json: { ...shown, ...outage } }).catch(() => undefined);
    });
    await counter.type('150000');
    await expectPaused(
      counter,
      'provider down',
      'The payment provider does not answer. This page shows when it works again.',
    );
    await counter.close();
  });

  it('says that a sale changed after the person has left it', async () => {
    const counter = await shop.openCounter({ before: ENDS_STAY });
    const { page } = counter;
    const checkout = await shop.openSale(counter);
    await shop.stack.expireElsewhere(chargeIdOf(checkout));
    await untilScreen(page, 'expired');
    await counter.press('New sale');
    await untilScreen(page, 'ready');
    shop.stack.sandbox.mark(chargeIdOf(checkout), { status: 'successful', force: true });
    await shop.stack.untilStatus(checkout.id, 'refunded');
    const changed = page.getByRole('button', { name: 'Money returned. This sale changed after you left it.' });
    await expect
      .poll(async () => {
        await lookAgain(page);
        return changed.count();
      })
      .toBe(1);
    await expectUsable(page, 'till', 'changed after it was left');
    await changed.click();
    await untilScreen(page, 'returned');
    await counter.close();
  });

  it('says that it can begin no sale where the browser forbids it to store one', async () => {
    const before = `Object.defineProperty(window, 'localStorage', { get() { throw new Error('forbidden'); } });`;
    const counter = await Counter.open(shop.browser, await shop.link(shop.newTill()), { before });
    await counter.page.getByRole('heading', { name: 'This page may not store data' }).waitFor();
    await expectUsable(counter.page, 'till', 'no storage');
    await counter.close();
  });

  it('says that its link is not valid, on both screens', async () => {
    const till = shop.newTill();
    const counter = await shop.openCounter({}, till);
    const display = await counter.display();
    await untilScreen(display, 'idle');
    await shop.endLinks(till);
    await counter.page.reload();
    for (const [side, page] of [
      ['till', counter.page],
      ['display', display],
    ] as const) {
      await page.getByRole('heading', { name: 'This link is not valid' }).waitFor();
      await expectUsable(page, side, 'closed');
    }
    await counter.close();
  });

  it('says that it opens while no answer comes', async () => {
    const counter = await shop.openCounter({ isRouted: true });
    await counter.context.route('**/v1/**', () => undefined);
    await counter.page.reload();
    const display = await counter.display();
    for (const [side, page] of [
      ['till', counter.page],
      ['display', display],
    ] as const) {
      await page.getByRole('heading', { name: 'Opening the counter' }).waitFor();
      await expectUsable(page, side, 'opening');
    }
    await counter.close();
  });

  it('says that it has no connection, and what not to do', async () => {
    const counter = await shop.openCounter();
    const display = await counter.display();
    await shop.openSale(counter);
    await untilScreen(display, 'awaiting');
    shop.line.cut();
    try {
      await counter.page.getByRole('alert').getByText('Do not charge again').waitFor();
      await display.getByRole('alert').getByText('Please ask at the counter').waitFor();
      await expectUsable(counter.page, 'till', 'no connection');
      await expectUsable(display, 'display', 'no connection');
    } finally {
      shop.line.mend();
    }
    await counter.close();
  });
});

/** The text of the button that charges, after the page has looked again. */
async function mainNow(page: Page): Promise<string | null> {
  await lookAgain(page);
  return page.locator('.pad .main').textContent();
}

async function expectPaused({ page }: Counter, name: string, reason: string): Promise<void> {
  await expect.poll(() => mainNow(page)).toBe('No QR payments now');
  expect(await page.locator('.pad .main').isDisabled()).toBe(true);
  expect(await page.locator('.hint').textContent()).toBe(reason);
  await expectUsable(page, 'till', name);
}
