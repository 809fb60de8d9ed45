import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { untilRight, untilScreen } from './support/counter.js';
import { CounterShop } from './support/counter-shop.js';
import { chargeIdOf, type CheckoutJson } from './support/stack.js';

let shop: CounterShop;
beforeAll(async () => {
  shop = await CounterShop.open();
});
afterAll(() => shop.close());

describe('a page that loses its connection', () => {
  it('says so, shows the last known state, and is right again soon after the connection is back', async () => {
    const { stack, line } = shop;
    const counter = await shop.openCounter();
    const display = await counter.display();
    const checkout = await shop.openSale(counter);
    await untilScreen(display, 'awaiting');
    line.cut();
    await counter.page.getByText('No connection').waitFor();
    shop.pay(checkout);
    await stack.untilStatus(checkout.id, 'paid');
    expect(await counter.page.locator('body').getAttribute('data-screen')).toBe('awaiting');
    line.mend();
    await Promise.all([untilRight(counter.page, 'paid'), untilRight(display, 'paid')]);
    expect(counter.problems).toEqual([]);
    await counter.close();
  });

  it('shows the end of a sale that ended while the device was offline', async () => {
    const counter = await shop.openCounter();
    const checkout = await shop.openSale(counter);
    await counter.context.setOffline(true);
    await counter.page.getByText('No connection').waitFor();
    await shop.stack.expireElsewhere(chargeIdOf(checkout));
    await shop.stack.untilStatus(checkout.id, 'expired');
    await counter.context.setOffline(false);
    await untilScreen(counter.page, 'expired');
    await counter.press('New QR code');
    await untilScreen(counter.page, 'awaiting');
    await counter.close();
  });

  it('makes one checkout for a tap whose answers are lost, and finds it after a reload', async () => {
    const till = shop.newTill();
    const counter = await shop.openCounter({}, till);
    shop.line.mute();
    await counter.sell();
    await untilScreen(counter.page, 'creating');
    await expect.poll(() => shop.checkoutsOf(till)).toHaveLength(1);
    shop.line.mend();
    await counter.page.reload();
    await untilScreen(counter.page, 'awaiting');
    expect(await shop.checkoutsOf(till)).toHaveLength(1);
    await counter.close();
  });

  it('begins a sale that the API accepted and never began', async () => {
    const till = shop.newTill();
    const counter = await shop.openCounter({ isRouted: true }, till);
    const references: string[] = [];
    // What a real checkout looks like, for the answers of an API that stops before it begins one.
    const real = (await shop.stack.create()).body;
    const begins = performance.now() + LONGER_THAN_ONE_CALL_MS;
    await counter.page.route('**/v1/checkouts', (route) => {
      const request = route.request();
      if (request.method() !== 'POST') return route.continue();
      const { reference, amount } = request.postDataJSON() as Pick<CheckoutJson, 'reference' | 'amount'>;
      references.push(reference);
      if (performance.now() > begins) return route.continue();
      const id = `chk_default_${reference}`;
      const json = { ...real, id, reference, amount, status: 'creating', version: 0, attempts: [], qr: null };
      return route.fulfill({ status: 202, json });
    });
    await counter.sell();
    await untilScreen(counter.page, 'awaiting');
    expect(new Set(references).size).toBe(1);
    expect((await shop.checkoutsOf(till)).map(({ reference }) => reference)).toEqual([references[0]]);
    await counter.close();
  });

  it('finds a sale of yesterday, and makes none when there is none', async () => {
    const till = shop.newTill();
    const counter = await shop.openCounter({}, till);
    const checkout = await shop.openSale(counter);
    const age = (changes: string): string => `(() => {
      const name = Object.keys(localStorage).find((each) => each.startsWith('tillflow.sale.'));
      const sale = JSON.parse(localStorage.getItem(name));
      localStorage.setItem(name, JSON.stringify({ ...sale, id: null, startedAt: sale.startedAt - 86400000, ${changes} }));
    })()`;
    await counter.page.evaluate(age(''));
    await counter.page.reload();
    await untilScreen(counter.page, 'awaiting');
    expect(await counter.checkoutId()).toBe(checkout.id);

    await counter.page.evaluate(age(`reference: 'never-sent'`));
    await counter.page.reload();
    await untilScreen(counter.page, 'ready');
    expect(await counter.page.getByRole('alert').textContent()).toContain('The last sale did not begin');
    expect(await shop.checkoutsOf(till)).toHaveLength(1);
    await counter.close();
  });

  it('opens without a network, and sells when the network is back', async () => {
    const counter = await shop.openCounter();
    await counter.page.evaluate('navigator.serviceWorker.ready');
    shop.line.cut();
    await counter.page.reload();
    await counter.page.getByText('No connection').waitFor();
    shop.line.mend();
    await untilScreen(counter.page, 'ready');
    expect(await shop.openSale(counter)).toMatchObject({ status: 'awaiting_payment' });
    await counter.close();
  });

  it('shows a payment made while the API was restarting', async () => {
    const counter = await shop.openCounter();
    const display = await counter.display();
    const checkout = await shop.openSale(counter);
    await untilScreen(display, 'awaiting');
    const { port } = new URL(shop.stack.api.url);
    await shop.stack.api.close();
    await counter.page.getByText('No connection').waitFor();
    shop.pay(checkout);
    await shop.stack.restartApi(port);
    await Promise.all([untilRight(counter.page, 'paid'), untilRight(display, 'paid')]);
    await counter.close();
  });
});

/** The page gives one call of the SDK four seconds. */
const LONGER_THAN_ONE_CALL_MS = 6_000;
