import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PROBLEMS } from '@tillflow/api';
import { openBrowser, type OpenedBrowser } from '@tillflow/browser';
import { bundle } from '@tillflow/packaging';
import { NotPaidError, Tillflow, TillflowError, type Checkout } from '@tillflow/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CutLine } from '@tillflow/tools';
import { chargeIdOf, IMPATIENT, KEYS, newReference, Stack } from './support/stack.js';

let stack: Stack;
let tillflow: Tillflow;
beforeAll(async () => {
  stack = await Stack.start();
  tillflow = new Tillflow({ baseUrl: stack.api.url, key: KEYS.checkout });
});
afterAll(() => stack.stop());

const sale = () => ({ reference: newReference(), amount: 150_000, currency: 'THB' }) as const;
const pay = (checkout: Checkout): void => {
  stack.sandbox.mark(chargeIdOf({ attempts: checkout.attempts.slice(-1) }), { status: 'successful' });
};
const codeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => expect.fail('it succeeded'),
    (error: unknown) => (error instanceof TillflowError ? [error.code, error.money] : error),
  );

describe('the SDK', () => {
  it('creates a checkout with its QR code, and finds the same one by its reference, before and after the payment', async () => {
    const params = sale();
    const checkout = await tillflow.checkouts.create(params);
    expect(checkout.qr?.image_url).toContain(checkout.id);
    expect(await tillflow.checkouts.create(params)).toEqual(checkout);
    pay(checkout);
    const paid = await tillflow.checkouts.untilPaid(checkout.id);
    expect(paid).toMatchObject({ id: checkout.id, status: 'paid', qr: null });
    expect((await tillflow.checkouts.create(params)).status).toBe('paid');
    expect(await codeOf(tillflow.checkouts.create({ ...params, amount: 2_000 }))).toEqual([
      'reference_conflict',
      'not_moved',
    ]);
  });

  it('waits for a QR code that takes the provider longer than the API waits', async () => {
    await stack.withApi(IMPATIENT, async () => {
      stack.sandbox.faults.add({ method: 'POST', path: '/charges', action: 'delay', delay_ms: 3_000, times: 1 });
      const slow = new Tillflow({ baseUrl: stack.api.url, key: KEYS.checkout });
      expect((await slow.checkouts.create(sale())).qr).not.toBeNull();
    });
  });

  it('replaces a QR code once for each attempt number, and says why there is no new one', async () => {
    const { id } = await tillflow.checkouts.create(sale());
    const second = await tillflow.checkouts.newAttempt(id, { after: 1 });
    expect([second.attempts.length, second.qr === null]).toEqual([2, false]);
    expect((await tillflow.checkouts.newAttempt(id, { after: 1 })).attempts).toHaveLength(2);
    expect((await tillflow.checkouts.newAttempt(id)).attempts).toHaveLength(3);
    stack.sandbox.faults.add({ method: 'POST', path: '/charges', action: 'status', status: 400, times: 1 });
    const refused = tillflow.checkouts.newAttempt(id, { after: 3 });
    expect(await codeOf(refused)).toEqual(['checkout_failed', 'not_moved']);
    pay(await tillflow.checkouts.newAttempt(id, { after: 4 }));
    await tillflow.checkouts.untilPaid(id);
    expect(await codeOf(tillflow.checkouts.newAttempt(id, { after: 4 }))).toEqual(['already_paid', 'paid']);
  });

  it('cancels a checkout, and says when the customer was faster', async () => {
    const cancelled = await tillflow.checkouts.create(sale());
    expect(await tillflow.checkouts.cancel(cancelled.id)).toMatchObject({ status: 'cancelled', qr: null });
    const ended: unknown = await tillflow.checkouts.untilPaid(cancelled.id).catch((error: unknown) => error);
    expect(ended).toBeInstanceOf(NotPaidError);
    expect(ended).toMatchObject({ code: 'checkout_cancelled', money: 'not_moved', checkout: { id: cancelled.id } });

    const paid = await tillflow.checkouts.create(sale());
    pay(paid);
    await tillflow.checkouts.untilPaid(paid.id);
    expect(await codeOf(tillflow.checkouts.cancel(paid.id))).toEqual(['already_paid', 'paid']);
  });

  it('does not know what becomes of the money while Tillflow returns a late payment', async () => {
    const { id, attempts } = await tillflow.checkouts.create(sale());
    await tillflow.checkouts.cancel(id);
    stack.sandbox.faults.add({ method: 'POST', path: '/charges/{id}/refunds', action: 'status', status: 503 });
    stack.sandbox.mark(chargeIdOf({ attempts }), { status: 'successful', force: true });
    await stack.until(id, ({ paid_at }) => paid_at !== null);
    expect(await codeOf(tillflow.checkouts.untilPaid(id))).toEqual(['checkout_cancelled', 'unknown']);
    stack.sandbox.faults.clear();
  });

  it('refunds once for each key, and shows receipts', async () => {
    const checkout = await tillflow.checkouts.create(sale());
    const { checkouts } = tillflow;
    expect(await codeOf(checkouts.refund(checkout.id))).toEqual(['not_paid', 'not_moved']);
    expect(await codeOf(checkouts.receipt(checkout.id))).toEqual(['not_paid', 'not_moved']);
    pay(checkout);
    await checkouts.untilPaid(checkout.id);
    const once = (): Promise<unknown> =>
      checkouts.refund(checkout.id, { amount: 50_000 }, { idempotencyKey: 'return-1' });
    const [first, second] = await Promise.all([once(), once()]);
    expect(first).toEqual(second);
    const rest = await checkouts.refund(checkout.id);
    expect((await checkouts.listRefunds(checkout.id)).data).toEqual([first, rest]);
    expect(await codeOf(checkouts.refund(checkout.id, { amount: 1 }))).toEqual(['refund_exceeds_paid', 'not_moved']);
    expect(await checkouts.receipt(checkout.id)).toMatchObject({ kind: 'payment', amount_text: 'THB 1,500.00' });
    expect(await checkouts.receipt(checkout.id, { refund: 'return-1' })).toMatchObject({
      kind: 'refund',
      amount: 50_000,
    });
    expect(await checkouts.receipt(checkout.id, { format: 'text', language: 'th' })).toContain('฿1,500.00');
    expect(await checkouts.receipt(checkout.id, { format: 'html' })).toContain('<html');
  });

  it('lists the checkouts of a till over all pages', async () => {
    const terminal = newReference();
    const made = [];
    for (let count = 0; count < 3; count += 1) made.push(await tillflow.checkouts.create({ ...sale(), terminal }));
    await expect
      .poll(async () => {
        const ids: string[] = [];
        for await (const { id } of tillflow.checkouts.iterate({ terminal, limit: 2 })) ids.push(id);
        return ids;
      })
      .toEqual(made.map(({ id }) => id).toReversed());
  });

  it('knows whether new payments are possible, and what the API refuses', async () => {
    expect(await tillflow.availability()).toMatchObject({ accepting: true });
    const wrong = new Tillflow({ baseUrl: stack.api.url, key: 'another-key' });
    expect(await codeOf(wrong.checkouts.create(sale()))).toEqual(['unauthorized', 'not_moved']);
    expect(await codeOf(tillflow.checkouts.retrieve('chk_default_nothing'))).toEqual(['not_found', 'not_moved']);
    expect(await codeOf(tillflow.checkouts.create({ ...sale(), amount: 1 }))).toEqual([
      'amount_out_of_range',
      'not_moved',
    ]);
  });

  it('watches a checkout over a line that is cut and mended', async () => {
    const line = await CutLine.to(new URL(stack.api.url).host);
    const till = new Tillflow({ baseUrl: `http://${line.address}`, key: KEYS.checkout, timeoutMs: 1_000 });
    const checkout = await till.checkouts.create(sale());
    const seen: string[] = [];
    for await (const { status } of till.checkouts.watch(checkout.id)) {
      seen.push(status);
      if (status === 'paid') break;
      line.cut();
      pay(checkout);
      await stack.untilStatus(checkout.id, 'paid');
      line.mend();
    }
    line.close();
    expect(seen).toEqual(['awaiting_payment', 'paid']);
  });

  it.each(Object.entries(PROBLEMS))(
    'says of %s what the page of this error says about the money',
    async (code, page) => {
      const { status, money, title, example } = page;
      const problem = {
        type: `https://pay.example/errors/${code}`,
        title,
        status,
        code,
        detail: example,
        request_id: 'r',
      };
      const fetch = async (): Promise<Response> => Response.json(problem, { status });
      const client = new Tillflow({ baseUrl: 'https://pay.example', key: 'key', patienceMs: 0, fetch });
      // The SDK reads the checkout to learn whether the payment still counts, and gets no checkout here.
      const isUnknown = 'mayHaveHadEffect' in page || money.startsWith('The customer has paid');
      expect(await codeOf(client.checkouts.create(sale()))).toEqual([code, isUnknown ? 'unknown' : 'not_moved']);
      expect(/may have (happened|been made)/.test(money)).toBe('mayHaveHadEffect' in page);
    },
  );
});

describe('in a browser, the SDK', () => {
  let opened: OpenedBrowser;
  let folder: string;
  let code: string;
  beforeAll(async () => {
    opened = await openBrowser();
    folder = await mkdtemp(join(tmpdir(), 'sdk-browser-'));
    const sdk = createRequire(import.meta.url).resolve('@tillflow/sdk');
    await writeFile(join(folder, 'main.ts'), `export * from ${JSON.stringify(sdk)};`);
    ({ code } = await bundle(folder, { platform: 'browser', minify: true }));
  });
  afterAll(async () => {
    await opened.browser?.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('sells on a page of the same origin, over a connection that is lost for a while, and verifies an event', async ({
    skip,
  }) => {
    if (opened.browser === null) return skip(opened.reason);
    const context = await opened.browser.newContext();
    const page = await context.newPage();
    await page.route('**/till', (route) =>
      route.fulfill({ contentType: 'text/html', body: '<!doctype html><img id="qr">' }),
    );
    await page.route('**/sdk.js', (route) => route.fulfill({ contentType: 'text/javascript', body: code }));
    await page.goto(`${stack.api.url}/till`);
    const given = JSON.stringify({ key: KEYS.checkout, params: sale() });
    const id = await page.evaluate<string>(`(async ({ key, params }) => {
      const { Tillflow } = await import('/sdk.js');
      window.tillflow = new Tillflow({ baseUrl: location.origin, key });
      const checkout = await tillflow.checkouts.create(params);
      document.querySelector('#qr').src = checkout.qr.image_url;
      await document.querySelector('#qr').decode();
      window.seen = [];
      window.watching = (async () => {
        for await (const { status } of tillflow.checkouts.watch(checkout.id)) {
          seen.push(status);
          if (status === 'paid') return seen;
        }
      })();
      return checkout.id;
    })(${given})`);
    await expect.poll(() => page.evaluate<number>('seen.length')).toBe(1);
    await context.setOffline(true);
    pay(await tillflow.checkouts.retrieve(id));
    await stack.untilStatus(id, 'paid');
    await context.setOffline(false);
    expect(await page.evaluate<string[]>('watching')).toEqual(['awaiting_payment', 'paid']);
    const refund = await page.evaluate<string>(`tillflow.checkouts.refund('${id}').then(({ status }) => status)`);
    expect(refund).toBe('succeeded');
    const type = await page.evaluate<string>(`(async () => {
      const body = '{"type":"checkout.paid","timestamp":"","data":{}}';
      const headers = await tillflow.webhooks.sign(body, 'whsec_c2VjcmV0', { id: 'evt_1' });
      return (await tillflow.webhooks.verify(body, new Headers(headers), 'whsec_c2VjcmV0')).type;
    })()`);
    expect(type).toBe('checkout.paid');
    await context.close();
  });
});
