import type { Browser, BrowserContext, Page } from '@tillflow/browser';
import { eventually } from './eventually.js';
import type { Stack } from './stack.js';

export type Till = { readonly terminal: string; readonly store?: { readonly id: string; readonly name?: string } };

export type CounterOptions = {
  readonly width?: number;
  readonly height?: number;
  readonly colorScheme?: 'light' | 'dark';
  readonly locale?: string;
  /** Runs in the page before its own program. */
  readonly before?: string;
};

/** A tablet, held upright. */
const TABLET = { width: 820, height: 1_180 };

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

  private constructor(
    readonly context: BrowserContext,
    readonly page: Page,
    readonly origin: string,
  ) {}

  static async open(browser: Browser, link: string, options: CounterOptions = {}): Promise<Counter> {
    const { width = TABLET.width, height = TABLET.height, colorScheme = 'light', locale = 'en-GB', before } = options;
    const context = await browser.newContext({ viewport: { width, height }, colorScheme, locale });
    // A picture must not show a half of a turn.
    await context.addInitScript('window.print = () => (window.top.printed = (window.top.printed ?? 0) + 1)');
    if (before !== undefined) await context.addInitScript(before);
    const counter = new Counter(context, await context.newPage(), new URL(link).origin);
    counter.#watch(counter.page);
    await counter.page.goto(link);
    return counter;
  }

  /** The customer's screen, on the same device. */
  async display(): Promise<Page> {
    const page = await this.context.newPage();
    this.#watch(page);
    await page.goto(`${this.origin}/counter/display`);
    return page;
  }

  #watch(page: Page): void {
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

  close(): Promise<void> {
    return this.context.close();
  }
}

/** Waits until a page shows this screen of a sale, `ready` for the amount pad, or `closed`. */
export async function untilScreen(page: Page, screen: string, timeoutMs = 30_000): Promise<void> {
  try {
    // Not `waitForFunction`: the policy of the page forbids what that does.
    await page.locator(`body[data-screen=${screen}]`).waitFor({ timeout: timeoutMs });
  } catch {
    const shown: unknown = await page.evaluate('document.body.dataset.screen + ": " + document.body.innerText');
    throw new Error(`The page does not show ${screen}, but ${String(shown)}`);
  }
}
