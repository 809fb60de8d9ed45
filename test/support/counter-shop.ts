import { openBrowser, type Browser, type Page } from '@tillflow/browser';
import { Counter, counterLink, untilScreen, type CounterOptions, type Till } from './counter.js';
import { CutLine } from '@tillflow/tools';
import { chargeIdOf, KEYS, newReference, SETTLES_SOON, Stack, type CheckoutJson } from './stack.js';

const SHOP = { SHOP_NAME: 'Sunrise Coffee', BUSINESS_TIMEZONE: 'Asia/Bangkok' };

/** Where the customer's screen is. */
export const PLACES = ['on the same device', 'on another device'] as const;
export type Place = (typeof PLACES)[number];

/** A shop with counters: every part of the product, a browser, and a line between the two that can be cut. */
export class CounterShop {
  private constructor(
    readonly stack: Stack,
    readonly browser: Browser,
    readonly line: CutLine,
  ) {}

  static async open(): Promise<CounterShop> {
    const [stack, opened] = await Promise.all([
      Stack.start({ api: { ...SHOP, ...SETTLES_SOON, ATTENTION_AFTER_MS: '300', ANSWER_WITHIN_MS: '2500' } }),
      openBrowser(),
    ]);
    if (opened.browser === null) throw new Error(opened.reason);
    return new CounterShop(stack, opened.browser, await CutLine.to(new URL(stack.api.url).host));
  }

  async close(): Promise<void> {
    await this.browser.close();
    this.line.close();
    await this.stack.stop();
  }

  newTill(store = { id: 'silom', name: 'Silom Road' }): Till {
    return { terminal: `till-${newReference().slice(-8)}`, store };
  }

  /** A link whose pages reach the API over the line. */
  link(till: Till): Promise<string> {
    return counterLink(this.stack, till, `http://${this.line.address}`);
  }

  async openCounter(options: CounterOptions = {}, till = this.newTill()): Promise<Counter> {
    const counter = await Counter.open(this.browser, await this.link(till), options);
    await untilScreen(counter.page, 'ready');
    return counter;
  }

  /** A till and the screen of its customers. */
  async openBoth(place: Place, options: CounterOptions = {}): Promise<{ counter: Counter; display: Page }> {
    const till = this.newTill();
    const counter = await this.openCounter(options, till);
    const display = await counter.display(place === 'on another device' ? await this.link(till) : undefined);
    await untilScreen(display, 'idle');
    return { counter, display };
  }

  /** Sells, and reads the checkout once the customer can pay. */
  async openSale(counter: Counter, keys?: string): Promise<CheckoutJson> {
    await counter.sell(keys);
    await untilScreen(counter.page, 'awaiting');
    return this.checkout(counter);
  }

  /** The checkout that the till shows. */
  async checkout(counter: Counter): Promise<CheckoutJson> {
    return (await this.stack.get(`/v1/checkouts/${await counter.checkoutId()}`)).body;
  }

  async checkoutsOf({ terminal }: Till): Promise<CheckoutJson[]> {
    const found: CheckoutJson[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const path = `/v1/checkouts?terminal=${terminal}&limit=100${cursor === '' ? '' : `&cursor=${cursor}`}`;
      const page: { data: CheckoutJson[]; next_cursor: string | null } = (await this.stack.get<typeof page>(path)).body;
      found.push(...page.data);
      cursor = page.next_cursor;
    }
    return found;
  }

  /** The customer pays the QR code that is shown. */
  pay(checkout: CheckoutJson): void {
    const newest = checkout.attempts.at(-1);
    this.stack.sandbox.mark(chargeIdOf({ attempts: newest === undefined ? [] : [newest] }), { status: 'successful' });
  }

  /** Revokes every link of the till. */
  async endLinks(till: Till): Promise<void> {
    const { body } = await this.stack.request<{ data: { id: string; terminal: string }[] }>(
      'GET',
      '/v1/counter-links',
      {
        key: KEYS.ops,
      },
    );
    for (const { id, terminal } of body.data) {
      if (terminal === till.terminal) await this.stack.request('DELETE', `/v1/counter-links/${id}`);
    }
  }
}
