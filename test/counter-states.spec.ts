import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ENDS_STAY,
  lookAgain,
  NOTE_SCREENS,
  screensOf,
  seenBy,
  untilRight,
  untilScreen,
  type Counter,
} from './support/counter.js';
import { expectUsable, listPictures, MOVING } from './support/counter-pictures.js';
import { CounterShop } from './support/counter-shop.js';
import { customerScreens, leave, SALE_STATES, type SaleState } from './support/counter-states.js';
import { FULL } from './support/full.js';

let shop: CounterShop;
beforeAll(async () => {
  shop = await CounterShop.open();
});
afterAll(async () => {
  await listPictures();
  await shop.close();
});

/** The page takes a moment to get each answer after a reload. Milliseconds. */
const SLOW_MS = 300;

async function slowDown(counter: Counter): Promise<void> {
  await counter.context.route('**/v1/**', async (route) => {
    await sleep(SLOW_MS);
    await route.continue();
  });
}

/** One of each kind: a QR code, an unknown outcome, a payment, an end, a late payment. The campaigns of `pnpm test:full` see them all. */
const QUICK = new Set(['awaiting', 'unknown', 'paid', 'expired', 'paid after its end, and the money is returned']);

describe('the screen of a sale', () => {
  const expectRight = async (name: string, state: SaleState): Promise<void> => {
    const counter = await shop.openCounter({ before: NOTE_SCREENS + ENDS_STAY, isRouted: true });
    const { page } = counter;
    const display = await counter.display();
    try {
      await state.reach(counter, shop);
      if (state.warns !== undefined) {
        const warnings = () => page.getByRole('alert').allTextContents();
        await expect.poll(warnings, { timeout: 30_000 }).toContainEqual(expect.stringContaining(state.warns));
      }
      await page.getByText(state.says).first().waitFor();
      await display.getByText(state.tells).first().waitFor();
      for (const each of [page, display]) await untilScreen(each, state.screen);
      await expectUsable(page, 'till', name);
      await expectUsable(display, 'display', name);

      await slowDown(counter);
      await Promise.all([page.reload(), display.reload()]);
      await untilRight(page, state.screen);
      await untilRight(display, customerScreens(state));
      for (const each of [page, display]) {
        const others = screensOf(await seenBy(each)).filter((screen) => screen !== state.screen);
        expect(others).not.toContain('creating');
      }
      expect(counter.problems).toEqual([]);
    } finally {
      await leave(state, shop);
      await counter.close();
    }
  };
  const states = Object.entries(SALE_STATES);
  it.each(states.filter(([name]) => QUICK.has(name)))(
    'is right, says so, stays through a reload, and is usable: %s',
    (name, state) => expectRight(name, state),
  );
  it.each(states.filter(([name]) => !QUICK.has(name)))(
    'is right, says so, stays through a reload, and is usable: %s',
    FULL,
    (name, state) => expectRight(name, state),
  );

  it('whose time is nearly over says so', async () => {
    const till = shop.newTill();
    const counter = await shop.openCounter({}, till);
    // The page shows few seconds in another colour from 30 s on.
    await shop.stack.create({ ...till, expires_in: 30 });
    await expect
      .poll(async () => {
        await lookAgain(counter.page);
        return counter.page.locator('.last button').count();
      })
      .toBe(1);
    await counter.page.locator('.last button').click();
    await counter.page.locator('.left.few').waitFor();
    await expectUsable(counter.page, 'till', 'nearly over');
    await counter.close();
  });

  it('is opening after a reload, until the API has shown the sale', async () => {
    const counter = await shop.openCounter({ isRouted: true });
    await shop.openSale(counter);
    await counter.page.route('**/v1/checkouts/**', () => undefined);
    await counter.page.reload();
    await untilScreen(counter.page, 'opening');
    await counter.page.getByRole('heading', { name: 'Opening the sale' }).waitFor();
    await counter.page.getByText('Please wait. Do not charge again.').waitFor();
    await expectUsable(counter.page, 'till', 'opening the sale');
    await counter.page.unroute('**/v1/checkouts/**');
    await untilRight(counter.page, 'awaiting', 60_000);
    await counter.close();
  });

  it('shows the QR code of the receipt', async () => {
    const counter = await shop.openCounter({ before: ENDS_STAY });
    shop.pay(await shop.openSale(counter));
    await untilScreen(counter.page, 'paid');
    await counter.press('Receipt as a QR code');
    await counter.page.getByRole('img', { name: 'Receipt as a QR code' }).waitFor();
    await expectUsable(counter.page, 'till', 'receipt');
    await counter.close();
  });

  it('moves only where the person has nothing against it', async () => {
    const counter = await shop.openCounter();
    await counter.page.emulateMedia({ reducedMotion: 'no-preference' });
    await SALE_STATES['creating']?.reach(counter, shop);
    try {
      await untilScreen(counter.page, 'creating');
      expect(await counter.page.evaluate(MOVING)).toHaveLength(1);
      await counter.page.emulateMedia({ reducedMotion: 'reduce' });
      expect(await counter.page.evaluate(MOVING)).toEqual([]);
    } finally {
      await shop.stack.startWorker();
      await counter.close();
    }
  });
});
