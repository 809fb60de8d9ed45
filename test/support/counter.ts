import type { Browser, BrowserContext, Page } from '@tillflow/browser';
import { eventually } from './eventually.js';
import type { Stack } from './stack.js';

export type Till = { readonly terminal: string; readonly store?: { readonly id: string; readonly name?: string } };

export type CounterOptions = {
  readonly width?: number;
  readonly height?: number;
  readonly colorScheme?: 'light' | 'dark';
  readonly locale?: string;
  readonly hasTouch?: boolean;
  /** Runs in the page before its own program. */
  readonly before?: string;
  /** The test moves the clock of the pages. */
  readonly hasOwnClock?: boolean;
  /** The test answers requests of the pages in place of the API: a service worker would hide some of them. */
  readonly isRouted?: boolean;
};

/** A tablet, held upright. */
export const TABLET = { width: 820, height: 1_180 };
export const PHONE = { width: 360, height: 740 };

/** What is still right on a page that lost its connection, or whose request was not needed any more. */
const HARMLESS = /net::ERR_|Failed to load resource/;

/** The address of a new link for a till. @param base where the page opens it; default the API */
export async function counterLink(stack: Stack, till: Till, base = stack.api.url): Promise<string> {
  const { status, body } = await stack.post<{ url: string }>('/v1/counter-links', till);
  if (status !== 201) throw new Error(JSON.stringify(body));
  const { pathname, hash } = new URL(body.url);
  return `${base}${pathname}${hash}`;
}

/** A device on the counter, in a real browser. */
export class Counter {
  /** What no page may do: errors, forbidden requests, requests to other machines. */
  readonly problems: string[] = [];
  readonly #more: BrowserContext[] = [];

  private constructor(
    private readonly browser: Browser,
    private readonly options: CounterOptions,
    readonly origin: string,
    readonly context: BrowserContext,
    readonly page: Page,
  ) {}

  static async open(browser: Browser, link: string, options: CounterOptions = {}): Promise<Counter> {
    const context = await newDevice(browser, options);
    const counter = new Counter(browser, options, new URL(link).origin, context, await context.newPage());
    counter.watch(counter.page);
    await counter.page.goto(link);
    return counter;
  }

  /** The customer's screen, on the same device. @param link of the same till, for a screen on another device */
  async display(link?: string): Promise<Page> {
    if (link === undefined) return this.#open(this.context, `${this.origin}/counter/display`);
    const device = await newDevice(this.browser, this.options);
    this.#more.push(device);
    return this.#open(device, link.replace('/counter#', '/counter/display#'));
  }

  /** Another window of the same device. */
  window(address: string): Promise<Page> {
    return this.#open(this.context, address);
  }

  async #open(device: BrowserContext, address: string): Promise<Page> {
    const page = await device.newPage();
    this.watch(page);
    await page.goto(address);
    return page;
  }

  watch(page: Page): void {
    page.on('pageerror', ({ message }) => this.problems.push(message));
    page.on('console', (message) => {
      if (message.type() === 'error' && !HARMLESS.test(message.text())) this.problems.push(message.text());
    });
    page.on('request', (request) => {
      if (new URL(request.url()).origin !== this.origin) this.problems.push(`a request to ${request.url()}`);
    });
  }

  /** @param keys digits, in the smallest currency unit */
  async type(keys: string): Promise<void> {
    for (const key of keys) await this.page.getByRole('button', { name: key, exact: true }).click();
  }

  /** Types an amount and charges it. */
  async sell(keys = '150000'): Promise<void> {
    await this.type(keys);
    await this.page.getByRole('button', { name: /^Charge/ }).click();
  }

  /** The id of the checkout that the page shows. */
  async checkoutId(): Promise<string> {
    const find = `Object.entries(localStorage).find(([name]) => name.startsWith('tillflow.sale.'))?.[1]`;
    return eventually(async () => {
      const id: unknown = await this.page.evaluate(`JSON.parse(${find} ?? '{}').id ?? null`);
      if (typeof id !== 'string') throw new Error('The page keeps no checkout');
      return id;
    });
  }

  press(name: string | RegExp): Promise<void> {
    return this.page.getByRole('button', { name }).click();
  }

  async close(): Promise<void> {
    for (const device of [this.context, ...this.#more]) await device.close();
  }
}

async function newDevice(browser: Browser, options: CounterOptions): Promise<BrowserContext> {
  const { width = TABLET.width, height = TABLET.height, colorScheme = 'light', locale = 'en-GB' } = options;
  const { hasTouch = false, isRouted = false, hasOwnClock = false, before } = options;
  const serviceWorkers = isRouted ? 'block' : 'allow';
  const viewport = { width, height };
  // What moves keeps the machine busy.
  const reducedMotion = 'reduce';
  const context = await browser.newContext({ viewport, colorScheme, locale, hasTouch, serviceWorkers, reducedMotion });
  if (hasOwnClock) await context.clock.install();
  // A picture must not show a half of a turn.
  await context.addInitScript('window.print = () => (window.top.printed = (window.top.printed ?? 0) + 1)');
  if (before !== undefined) await context.addInitScript(before);
  return context;
}

/** Waits until a page shows this screen of a sale, `ready` for the amount pad, or `closed`. */
export async function untilScreen(page: Page, screen: string, timeoutMs = 90_000): Promise<void> {
  await untilShown(page, `body[data-screen=${screen}]`, timeoutMs);
}

/** Waits until a page shows one of these screens, and that it reaches the API. */
export async function untilRight(page: Page, screens: string | readonly string[], timeoutMs = 90_000): Promise<void> {
  const right = [screens].flat().map((screen) => `[data-screen=${screen}]`);
  await untilShown(page, `body:is(${right.join()}):not(:has(.banner))`, timeoutMs);
}

async function untilShown(page: Page, selector: string, timeoutMs: number): Promise<void> {
  try {
    // Not `waitForFunction`: the policy of the page forbids what that does.
    await page.locator(selector).waitFor({ timeout: timeoutMs });
  } catch {
    const shown: unknown = await page.evaluate('document.body.dataset.screen + ": " + document.body.innerText');
    throw new Error(`The page does not show ${selector} within ${timeoutMs} ms, but ${String(shown)}`);
  }
}

export type Seen = { readonly screen: string; readonly title: string; readonly amount: string };

/** Runs in a page: notes what it shows, in its order. */
export const NOTE_SCREENS = `
  window.seen = [];
  new MutationObserver(() => {
    const { screen } = document.body?.dataset ?? {};
    if (screen === undefined) return;
    const [title, amount] = ['h1', '.sale .amount'].map((part) => document.querySelector(part)?.textContent ?? '');
    const now = JSON.stringify({ screen, title, amount });
    if (window.seen.at(-1) !== now) window.seen.push(now);
  }).observe(document, { subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: ['data-screen'] });
`;

/** What a page with {@link NOTE_SCREENS} has shown since it was opened, or since {@link forgetSeen}. */
export async function seenBy(page: Page): Promise<Seen[]> {
  const seen = await page.evaluate<string[]>('window.seen');
  return seen.map((one) => {
    const { screen, title, amount } = JSON.parse(one) as Seen;
    return { screen, title, amount: plain(amount) };
  });
}

export async function forgetSeen(page: Page): Promise<void> {
  await page.evaluate('window.seen = []');
}

/** Each screen once, in its order, however often the page was drawn. */
export function screensOf(seen: readonly Seen[]): string[] {
  return seen.map(({ screen }) => screen).filter((screen, at, all) => screen !== all[at - 1]);
}

/** Runs in a page: counts the tones that it plays. */
export const COUNT_TONES = `
  window.tones = 0;
  const { createOscillator } = AudioContext.prototype;
  AudioContext.prototype.createOscillator = function () {
    window.tones += 1;
    return createOscillator.call(this);
  };
`;

/** Amounts contain spaces that do not break. */
export const plain = (text: string | null): string => (text ?? '').replaceAll('\u00a0', ' ');

/** Runs in a page: an end stays on the screen for ten minutes, because the pictures take longer than 12 s on a busy machine. */
export const ENDS_STAY = `{
  const begin = window.setTimeout;
  window.setTimeout = (work, ms, ...given) => begin(work, ms === 12_000 ? 600_000 : ms, ...given);
}`;

/** The page looks when its network is back, and otherwise every few seconds. */
export async function lookAgain(page: Page): Promise<void> {
  await page.evaluate(`dispatchEvent(new Event('online'))`);
}
