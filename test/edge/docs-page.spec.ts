import { openBrowser, type OpenedBrowser } from '@tillflow/browser';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EdgeApi } from '../support/edge.js';

let api: EdgeApi;
let opened: OpenedBrowser;
beforeAll(async () => {
  api = await EdgeApi.start();
  opened = await openBrowser();
});
afterAll(async () => {
  await opened.browser?.close();
  await api.close();
});

describe('the page at /docs', () => {
  it('is also found at /docs/', async () => {
    expect((await api.fetch('/docs/')).url).toBe(`${api.url}/docs`);
  });

  it('shows a route in a browser and can call it, without a violation of its content security policy', async ({
    skip,
  }) => {
    const { browser, reason } = opened;
    if (browser === null) return skip(reason);
    const page = await browser.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    const foreign: string[] = [];
    page.on('request', (request) => {
      if (!request.url().startsWith(api.url) && !request.url().startsWith('data:')) foreign.push(request.url());
    });
    await page.goto(`${api.url}/docs`);
    const operation = page.getByText('Creates a checkout, or answers with the one that already has this reference');
    await operation.click();
    await page.getByRole('button', { name: 'Try it out' }).click();
    await page.getByRole('button', { name: 'Execute' }).click();
    // Without a key: the page asked, and shows the refusal.
    await page.getByText('Send Authorization: Bearer <key>').first().waitFor();
    expect({ complaints: complaints.filter((text) => !text.includes('401')), foreign }).toEqual({
      complaints: [],
      foreign: [],
    });
    await page.close();
  });
});
