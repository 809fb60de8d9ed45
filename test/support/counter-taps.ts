import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from '@tillflow/browser';
import { expect } from 'vitest';
import { PHONE, TABLET, untilScreen, type Counter } from './counter.js';
import type { CounterShop } from './counter-shop.js';

/** A later tap is one that the person means: the page takes it. On a busy machine a tap may come that late. Milliseconds. */
const LONGEST_GAP_MS = 380;

/** Runs in a page: notes when it learns of each tap. */
const NOTE_TAPS = `
  window.taps = [];
  addEventListener('pointerdown', () => window.taps.push(performance.now()), true);
`;

/**
 * Taps twice at the place of the button that charges, whatever is there the second time.
 * @param gapMs 0 for a double click of a mouse
 * @returns after how long the page learned of the second tap
 */
async function chargeTwice(page: Page, gapMs: number): Promise<number> {
  const button = page.locator('.pad .main');
  await button.scrollIntoViewIfNeeded();
  const box = await button.boundingBox();
  if (box === null) throw new Error('The page shows no button');
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.evaluate('window.taps = []');
  if (gapMs === 0) await page.mouse.dblclick(x, y);
  else {
    await page.touchscreen.tap(x, y);
    await sleep(gapMs);
    await page.touchscreen.tap(x, y);
  }
  return page.evaluate<number>('window.taps[1] - window.taps[0]');
}

/** Taps twice for so many sales, on phones and tablets at once: each makes one checkout, and the second tap does nothing. */
export async function expectOneCheckoutEach(
  shop: CounterShop,
  {
    sales,
    devices,
    gapMs,
  }: { readonly sales: number; readonly devices: number; readonly gapMs: (sale: number) => number },
): Promise<void> {
  const share = sales / devices;
  const runs = Array.from({ length: devices }, async (_, device) => {
    const till = shop.newTill();
    const size = device % 2 === 0 ? PHONE : TABLET;
    const counter = await shop.openCounter({ ...size, hasTouch: true, before: NOTE_TAPS }, till);
    let begun = 0;
    for (let tapped = 0; tapped < share; begun += 1) tapped += (await sellOnce(counter, gapMs(tapped))) ? 1 : 0;
    await expect.poll(() => shop.checkoutsOf(till)).toHaveLength(begun);
    await counter.close();
  });
  await Promise.all(runs);
}

/** @returns whether the second tap came soon enough to be one that the person did not mean */
async function sellOnce(counter: Counter, gapMs: number): Promise<boolean> {
  const { page, context } = counter;
  const windows = context.pages().length;
  const asked = new Set<string>();
  const note = (request: { method(): string; url(): string }): void => {
    if (request.method() === 'POST') asked.add(new URL(request.url()).pathname);
  };
  page.on('request', note);
  await page.keyboard.type('2000');
  const tookMs = await chargeTwice(page, gapMs);
  const isSoon = tookMs <= LONGEST_GAP_MS;
  if (isSoon) {
    await untilScreen(page, 'awaiting');
    expect([...asked], `a second tap after ${tookMs} ms`).toEqual(['/v1/checkouts']);
    expect(context.pages()).toHaveLength(windows);
  }
  page.off('request', note);
  await page.locator('body:is([data-screen=awaiting], [data-screen=cancelled])').waitFor();
  if ((await page.locator('body[data-screen=awaiting]').count()) === 1) await counter.press('Cancel the sale');
  await untilScreen(page, 'cancelled');
  await counter.press('New sale');
  await untilScreen(page, 'ready');
  return isSoon;
}
