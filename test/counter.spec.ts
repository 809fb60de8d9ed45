import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { counterFiles } from '@tillflow/counter';
import { ACCESSIBILITY_PROBLEMS, openBrowser, type Browser, type Page } from '@tillflow/browser';
import axe from 'axe-core';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Counter, counterLink, untilScreen, type CounterOptions, type Till } from './support/counter.js';
import { CutLine } from './support/cut-line.js';
import { FULL } from './support/full.js';
import { chargeIdOf, KEYS, newReference, SETTLES_SOON, Stack, type CheckoutJson } from './support/stack.js';
import { operatorOf, tillflow } from './support/tillflow.js';

const SHOP = { SHOP_NAME: 'Sunrise Coffee', BUSINESS_TIMEZONE: 'Asia/Bangkok' };
const TEN_MINUTES_MS = 600_000;

let stack: Stack;
let browser: Browser;
let line: CutLine;
beforeAll(async () => {
  const [started, opened] = await Promise.all([
    Stack.start({ api: { ...SHOP, ...SETTLES_SOON, ATTENTION_AFTER_MS: '300', ANSWER_WITHIN_MS: '2500' } }),
    openBrowser(),
  ]);
  if (opened.browser === null) throw new Error(opened.reason);
  [stack, browser] = [started, opened.browser];
  line = await CutLine.to(new URL(stack.api.url).host);
});
afterAll(async () => {
  await browser.close();
  line.close();
  await stack.stop();
});

const newTill = (): Till => ({
  terminal: `till-${newReference().slice(-8)}`,
  store: { id: 'silom', name: 'Silom Road' },
});

/** A counter behind a line that can be cut. */
async function openCounter(options: CounterOptions = {}, till = newTill()): Promise<Counter> {
  const counter = await Counter.open(browser, await counterLink(stack, till, `http://${line.address}`), options);
  await untilScreen(counter.page, 'ready');
  return counter;
}

/** Sells, and reads the checkout once the customer can pay. */
async function openSale(counter: Counter): Promise<CheckoutJson> {
  await counter.sell();
  await untilScreen(counter.page, 'awaiting');
  return (await stack.get(`/v1/checkouts/${await counter.checkoutId()}`)).body;
}

function checkoutsOf({ terminal }: Till): Promise<CheckoutJson[]> {
  return stack
    .get<{ data: CheckoutJson[] }>(`/v1/checkouts?terminal=${terminal}&limit=100`)
    .then(({ body }) => body.data);
}

/** Runs in a page: the width of the QR code's image, once it is there. */
const QR_WIDTH = `(async (image) => { await image.decode(); return image.naturalWidth; })(document.querySelector('.code img'))`;

/** Runs in a page: counts the tones that it plays. */
const COUNT_TONES = `
  window.tones = 0;
  const { createOscillator } = AudioContext.prototype;
  AudioContext.prototype.createOscillator = function () {
    window.tones += 1;
    return createOscillator.call(this);
  };
`;

/** Amounts contain spaces that do not break. */
const plain = (text: string | null): string => (text ?? '').replaceAll('\u00a0', ' ');

const pay = (checkout: CheckoutJson) => stack.sandbox.mark(chargeIdOf(checkout), { status: 'successful' });

type AxeResult = { readonly violations: readonly { id: string; nodes: { html: string }[] }[] };

async function accessibilityProblems(page: Page): Promise<unknown[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<AxeResult>('axe.run()');
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  return [...found, ...(await page.evaluate<string[]>(ACCESSIBILITY_PROBLEMS))];
}

describe('a sale at the counter', () => {
  it('goes from the amount to the receipt, on the till and on the screen of the customer', async () => {
    const counter = await openCounter({ before: COUNT_TONES });
    const { page } = counter;
    expect(page.url()).not.toContain('#');
    const display = await counter.display();
    await untilScreen(display, 'idle');
    await page.getByLabel('Note (optional)').fill('Two coffees');
    const checkout = await openSale(counter);
    expect(checkout).toMatchObject({ amount: 150_000, currency: 'THB', description: 'Two coffees' });
    await untilScreen(display, 'awaiting');
    for (const each of [page, display]) {
      expect(await each.evaluate(QR_WIDTH)).toBeGreaterThan(0);
      expect(plain(await each.locator('.amount').textContent())).toBe('THB 1,500.00');
    }

    const wallet = await counter.context.newPage();
    await wallet.goto((await page.locator('a.open').getAttribute('href')) ?? '');
    await wallet.getByRole('button', { name: 'Confirm payment' }).click();
    await Promise.all([untilScreen(page, 'paid'), untilScreen(display, 'paid')]);

    expect(await page.evaluate('window.tones')).toBe(2);
    await counter.press('Print the receipt');
    await expect.poll(() => page.evaluate('window.printed')).toBe(1);
    await counter.press('Receipt as a QR code');
    expect(await page.getByRole('img', { name: 'Receipt as a QR code' }).count()).toBe(1);
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
    const counter = await openCounter();
    const charge = counter.page.getByRole('button', { name: /^Charge/ });
    await counter.type('1999');
    await expect.poll(() => charge.isDisabled()).toBe(true);
    expect(plain(await counter.page.locator('.hint').textContent())).toBe('From THB 20.00 to THB 150,000.00');
    await counter.page.keyboard.press('Escape');
    await counter.page.keyboard.type('2000');
    expect(await charge.isEnabled()).toBe(true);
    await counter.close();
  });

  it('begins once for each of ten double taps', async () => {
    await expectOneCheckoutEach(10);
  });

  it('begins once for each of 1,000 double taps', { ...FULL, timeout: 600_000 }, async () => {
    await expectOneCheckoutEach(1_000);
  });
});

/** Taps twice, charges, and leaves the sale for the next one. */
async function expectOneCheckoutEach(count: number): Promise<void> {
  const till = newTill();
  const counter = await openCounter({}, till);
  for (let sale = 0; sale < count; sale += 1) {
    await counter.page.keyboard.type('2000');
    await counter.page.evaluate(`(() => {
      const button = document.querySelector('.pad .main');
      button.click();
      button.click();
      setTimeout(() => button.click(), 1);
    })()`);
    await untilScreen(counter.page, 'awaiting');
    await counter.press('Cancel the sale');
    await untilScreen(counter.page, 'cancelled');
    await counter.press('New sale');
    await untilScreen(counter.page, 'ready');
  }
  const made = stack.sandbox
    .state()
    .sources.filter(({ terminal_id }: { terminal_id?: unknown }) => terminal_id === till.terminal);
  expect(made.length).toBe(count);
  await counter.close();
}

const DEVICES = { phone: { width: 360, height: 740 }, tablet: { width: 1_180, height: 820 } };

/** Where the test leaves its pictures, to look at. */
const PICTURES = fileURLToPath(new URL('../node_modules/.cache/tillflow/counter/', import.meta.url));

/** Takes a picture on every device, in light and dark, and finds nothing that keeps a person from using the page. */
async function expectUsable(page: Page, name: string): Promise<void> {
  for (const [device, size] of Object.entries(DEVICES)) {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize(size);
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await page.screenshot({ path: `${PICTURES}${name}-${device}-${colorScheme}.png` });
      expect(await accessibilityProblems(page), `${device}, ${colorScheme}`).toEqual([]);
    }
  }
}

describe('the screen of a sale', () => {
  /** Brings a sale into a state, on a page that shows the sale. */
  const STATES: Readonly<Record<string, (counter: Counter) => Promise<void>>> = {
    creating: async (counter) => {
      await stack.stopWorker();
      await counter.sell();
    },
    unknown: async (counter) => {
      stack.sandbox.faults.add([
        { method: 'POST', path: '/charges', action: 'commit_then_reset', times: 1 },
        { method: 'GET', path: '/sources/{id}', action: 'status', status: 500 },
        { method: 'GET', path: '/charges', action: 'status', status: 500 },
      ]);
      await counter.sell();
    },
    awaiting: async (counter) => {
      await openSale(counter);
    },
    checking: async (counter) => {
      const checkout = await openSale(counter);
      stack.sandbox.mark(chargeIdOf(checkout), { status: 'confirming' });
      await counter.press('Cancel the sale');
    },
    paid: async (counter) => {
      pay(await openSale(counter));
    },
    returned: async (counter) => {
      const checkout = await openSale(counter);
      pay(checkout);
      await stack.untilStatus(checkout.id, 'paid');
      const headers = { 'idempotency-key': newReference() };
      await stack.request('POST', `/v1/checkouts/${checkout.id}/refunds`, { body: {}, headers });
    },
    late: async (counter) => {
      const checkout = await openSale(counter);
      stack.sandbox.faults.add([
        { method: 'POST', path: '/charges/{id}/void', action: 'status', status: 500 },
        { method: 'POST', path: '/charges/{id}/refunds', action: 'status', status: 500 },
      ]);
      await stack.post(`/v1/checkouts/${checkout.id}/cancel`);
      stack.sandbox.mark(chargeIdOf(checkout), { status: 'successful', force: true });
    },
    expired: async (counter) => {
      await stack.expireElsewhere(chargeIdOf(await openSale(counter)));
    },
    failed: async (counter) => {
      const checkout = await openSale(counter);
      stack.sandbox.mark(chargeIdOf(checkout), { status: 'failed', failure_code: 'insufficient_fund' });
    },
    cancelled: async (counter) => {
      await openSale(counter);
      await counter.press('Cancel the sale');
    },
  };

  it.each(Object.entries(STATES))(
    'is right while the sale is %s, also after a reload, and accessible',
    async (state, reach) => {
      const counter = await openCounter();
      const display = await counter.display();
      try {
        await reach(counter);
        await untilScreen(counter.page, state);
        await untilScreen(display, state);
        await expectUsable(counter.page, `${state}-till`);
        await expectUsable(display, `${state}-display`);
        await counter.page.reload();
        await untilScreen(counter.page, state);
        expect(counter.problems).toEqual([]);
      } finally {
        stack.sandbox.faults.clear();
        if (state === 'creating') await stack.startWorker();
        await counter.close();
      }
    },
  );
});

const SALES = 10;
const CUTS_OF_A_SALE = 10;

/** Runs in a page: notes each screen in its order. */
const NOTE_SCREENS = `
  window.seen = [];
  new MutationObserver(() => {
    const { screen } = document.body?.dataset ?? {};
    if (screen !== undefined && window.seen.at(-1) !== screen) window.seen.push(screen);
  }).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ['data-screen'] });
`;

describe('a page that loses its connection', () => {
  it('says so, shows the last known state, and is right again soon after the connection is back', async () => {
    const counter = await openCounter();
    const display = await counter.display();
    const checkout = await openSale(counter);
    await untilScreen(display, 'awaiting');
    line.cut();
    await counter.page.getByText('No connection').waitFor();
    await stack.untilStatus((pay(checkout), checkout.id), 'paid');
    expect(await counter.page.locator('body').getAttribute('data-screen')).toBe('awaiting');
    line.mend();
    await Promise.all([untilScreen(counter.page, 'paid'), untilScreen(display, 'paid')]);
    expect(await counter.page.getByText('No connection').count()).toBe(0);
    expect(counter.problems).toEqual([]);
    await counter.close();
  });

  it('shows the end of a sale that ended while the device was offline', async () => {
    const counter = await openCounter();
    const checkout = await openSale(counter);
    await counter.context.setOffline(true);
    await counter.page.getByText('No connection').waitFor();
    await stack.expireElsewhere(chargeIdOf(checkout));
    await stack.untilStatus(checkout.id, 'expired');
    await counter.context.setOffline(false);
    await untilScreen(counter.page, 'expired');
    await counter.press('New QR code');
    await untilScreen(counter.page, 'awaiting');
    await counter.close();
  });

  it('makes one checkout for a tap whose answers are lost, and finds it after a reload', async () => {
    const till = newTill();
    const counter = await openCounter({}, till);
    line.mute();
    await counter.sell();
    await untilScreen(counter.page, 'creating');
    await expect.poll(() => checkoutsOf(till)).toHaveLength(1);
    line.mend();
    await counter.page.reload();
    await untilScreen(counter.page, 'awaiting');
    expect(await checkoutsOf(till)).toHaveLength(1);
    await counter.close();
  });

  it('finds a sale of yesterday, and makes none when there is none', async () => {
    const till = newTill();
    const counter = await openCounter({}, till);
    const checkout = await openSale(counter);
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
    expect(await checkoutsOf(till)).toHaveLength(1);
    await counter.close();
  });

  it('opens without a network, and sells when the network is back', async () => {
    const counter = await openCounter();
    await counter.page.evaluate('navigator.serviceWorker.ready');
    line.cut();
    await counter.page.reload();
    await counter.page.getByText('No connection').waitFor();
    line.mend();
    await untilScreen(counter.page, 'ready');
    expect(await openSale(counter)).toMatchObject({ status: 'awaiting_payment' });
    await counter.close();
  });

  it('shows a payment made while the API was restarting', async () => {
    const counter = await openCounter();
    const display = await counter.display();
    const checkout = await openSale(counter);
    await untilScreen(display, 'awaiting');
    const { port } = new URL(stack.api.url);
    await stack.api.close();
    await counter.page.getByText('No connection').waitFor();
    pay(checkout);
    await stack.restartApi(port);
    await Promise.all([untilScreen(counter.page, 'paid'), untilScreen(display, 'paid')]);
    await counter.close();
  });

  it('shows a payment of the minute in which it could not reach the API', { ...FULL, timeout: 120_000 }, async () => {
    const counter = await openCounter();
    const checkout = await openSale(counter);
    line.cut();
    await sleep(30_000);
    pay(checkout);
    await sleep(30_000);
    expect(await counter.page.locator('body').getAttribute('data-screen')).toBe('awaiting');
    line.mend();
    await untilScreen(counter.page, 'paid');
    await counter.close();
  });

  it('goes only forward while its connection is cut 100 times', { ...FULL, timeout: 600_000 }, async () => {
    const counter = await openCounter({ before: NOTE_SCREENS });
    const display = await counter.display();
    const random = xoroshiro128plus(7);
    const between = (from: number, to: number): number => uniformInt(random, from, to);
    for (let sale = 0; sale < SALES; sale += 1) {
      for (const page of [counter.page, display]) await page.evaluate('window.seen = []');
      const checkout = await openSale(counter);
      await untilScreen(display, 'awaiting');
      for (let cut = 0; cut < CUTS_OF_A_SALE; cut += 1) {
        line.cut();
        if (cut === CUTS_OF_A_SALE / 2) pay(checkout);
        await sleep(between(0, 400));
        line.mend();
        await sleep(between(0, 1_200));
      }
      await Promise.all([untilScreen(counter.page, 'paid'), untilScreen(display, 'paid')]);
      for (const page of [counter.page, display]) {
        const seen = await page.evaluate<string[]>('window.seen');
        expect(seen.slice(seen.indexOf('awaiting'))).toEqual(['awaiting', 'paid']);
      }
      await counter.press('New sale');
      await untilScreen(counter.page, 'ready');
      await untilScreen(display, 'idle');
    }
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
      const counter = await openCounter({ before });
      const checkout = await openSale(counter);
      const [text, now] = [await counter.page.locator('[role=timer]').textContent(), Date.now()];
      const [minutes, seconds] = (text ?? '').split(':').map(Number);
      const left = (Date.parse(checkout.attempts[0]?.expires_at ?? '') - now) / 1_000;
      expect(Math.abs((minutes ?? 0) * 60 + (seconds ?? 0) - left)).toBeLessThanOrEqual(1);
      await counter.close();
    },
  );

  it('says before the sale that payments are paused, and takes them again', async () => {
    const counter = await openCounter();
    const main = counter.page.locator('.pad .main');
    const operate = (...args: string[]) => tillflow(args, operatorOf(stack));
    // The page looks again when its network is back, and otherwise every few seconds.
    const textNow = async () => {
      await counter.page.evaluate(`dispatchEvent(new Event('online'))`);
      return main.textContent();
    };
    await counter.type('150000');
    await operate('pause', '--reason', 'the bank is down');
    try {
      await expect.poll(textNow).toBe('No QR payments now');
      expect(await main.isDisabled()).toBe(true);
    } finally {
      await operate('resume');
    }
    await expect.poll(textNow).toContain('Charge');
    expect(await main.isEnabled()).toBe(true);
    await counter.close();
  });

  it('closes when its link is revoked, and a new link of the till finds the sale', async () => {
    const till = newTill();
    const counter = await openCounter({}, till);
    const checkout = await openSale(counter);
    const { data } = (
      await stack.request<{ data: { id: string; terminal: string }[] }>('GET', '/v1/counter-links', { key: KEYS.ops })
    ).body;
    const link = data.find(({ terminal }) => terminal === till.terminal);
    await stack.request('DELETE', `/v1/counter-links/${link?.id}`);
    await counter.page.reload();
    await untilScreen(counter.page, 'closed', 60_000);
    await counter.page.goto(await counterLink(stack, till, counter.origin));
    await untilScreen(counter.page, 'awaiting');
    expect(await counter.checkoutId()).toBe(checkout.id);
    await counter.close();
  });

  it('stays at its till when another window of the browser opens the link of another till', async () => {
    const counter = await openCounter();
    const checkout = await openSale(counter);
    const other = await counter.context.newPage();
    await other.goto(await counterLink(stack, newTill(), counter.origin));
    await untilScreen(other, 'ready');
    const read = counter.page.waitForResponse('**/v1/counter-session');
    await counter.page.evaluate(`dispatchEvent(new Event('online'))`);
    await read;
    pay(checkout);
    await untilScreen(counter.page, 'paid');
    expect(await counter.page.locator('.reference').textContent()).toBe(checkout.reference);
    await counter.close();
  });

  it.each([
    ['th-TH', 'จำนวนเงิน', '฿1,500.00'],
    ['ms-MY', 'Jumlah', 'THB 1,500.00'],
    ['zh-CN', '金额', 'THB 1,500.00'],
    ['fr-FR', 'Amount', 'THB 1,500.00'],
  ])('speaks the language of %s, and writes amounts in it', async (locale, title, amount) => {
    const counter = await openCounter({ locale });
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
