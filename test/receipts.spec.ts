import { ACCESSIBILITY_PROBLEMS, openBrowser, type OpenedBrowser } from '@tillflow/browser';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  chargeIdOf,
  KEYS,
  newReference,
  Stack,
  type Answer,
  type CheckoutJson,
  type ProblemJson,
} from './support/stack.js';

const SHOP = {
  SHOP_NAME: 'Sunrise <Coffee>',
  SHOP_ADDRESS: '99 Rama IV Road | Bangkok 10500',
  SHOP_TAX_ID: '0105551234567',
  QR_NETWORK_NAME: 'Example Pay',
  BUSINESS_TIMEZONE: 'Asia/Bangkok',
};

/** Paper of 80 mm, in CSS pixels. */
const PAPER_PX = Math.round((80 / 25.4) * 96);

type Json = { readonly kind: string; readonly [name: string]: unknown };

let stack: Stack;
let opened: OpenedBrowser;
let paid: CheckoutJson;
let unpaid: CheckoutJson;
beforeAll(async () => {
  [stack, opened] = await Promise.all([
    Stack.start({ api: { ...SHOP, POLL_INTERVAL_MS: '100' }, webhookUrl: null }),
    openBrowser(),
  ]);
  const reference = newReference();
  const [first, second] = await Promise.all([
    stack.create({
      reference,
      terminal: 'till-7',
      store: { id: 'silom', name: 'Silom Road' },
      description: 'Two coffees',
    }),
    stack.create(),
  ]);
  unpaid = second.body;
  const open = await stack.until(first.body.id, ({ qr }) => qr !== null);
  stack.sandbox.mark(chargeIdOf(open), { status: 'successful' });
  paid = await stack.untilStatus(open.id, 'paid');
  const refunded = await refund('return-17', { amount: 50_000 });
  if (refunded.body.status !== 'succeeded') throw new Error(JSON.stringify(refunded.body));
});
afterAll(async () => {
  await opened.browser?.close();
  await stack.stop();
});

function refund(key: string, body: unknown): Promise<Answer<{ id: string; status: string }>> {
  const headers = { 'idempotency-key': key };
  return stack.request('POST', `/v1/checkouts/${paid.id}/refunds`, { body, headers });
}

function receiptOf<T = Json>(id: string, query = '', headers: Record<string, string> = {}): Promise<Answer<T>> {
  return stack.request<T>('GET', `/v1/checkouts/${id}/receipt${query}`, { headers });
}

describe('the receipt of a payment', () => {
  it('is JSON by default, with the shop, the till, the amount and the payment', async () => {
    const { status, body, headers } = await receiptOf(paid.id);
    expect({ status, body }).toMatchObject({
      status: 200,
      body: {
        kind: 'payment',
        language: 'en',
        shop: { name: 'Sunrise <Coffee>', address: ['99 Rama IV Road', 'Bangkok 10500'], tax_id: '0105551234567' },
        store: { id: 'silom', name: 'Silom Road' },
        terminal: 'till-7',
        checkout_id: paid.id,
        reference: paid.reference,
        description: 'Two coffees',
        amount: 150_000,
        currency: 'THB',
        amount_text: 'THB 1,500.00',
        time: paid.paid_at,
        time_zone: 'Asia/Bangkok',
        network: 'Example Pay',
        payment: { charge_id: chargeIdOf(paid), amount: 150_000, paid_at: paid.paid_at },
        refund: null,
      },
    });
    const { body: checkout } = await stack.get(`/v1/checkouts/${paid.id}`);
    expect(body['payment']).toMatchObject({ references: checkout.payment?.references });
    expect(JSON.stringify(body)).not.toMatch(/"fee|"net"|buyer/);
    expect(headers.get('vary')).toBe('Accept, Accept-Language');
    expect(headers.get('cache-control')).toBe('no-store');
  });

  it.each([
    ['en', 'en', 'Receipt', 'THB 1,500.00'],
    ['th-TH, en;q=0.5', 'th', 'ใบเสร็จรับเงิน', '฿1,500.00'],
    ['ms', 'ms', 'Resit', 'THB 1,500.00'],
    ['zh-CN', 'zh-Hans', '收据', 'THB 1,500.00'],
    ['fr', 'en', 'Receipt', 'THB 1,500.00'],
  ])('for Accept-Language %s is in %s, as text and as a page', async (wanted, language, title, amount) => {
    for (const type of ['text/plain', 'text/html']) {
      const { status, body, headers } = await receiptOf<string>(paid.id, '', {
        accept: type,
        'accept-language': wanted,
      });
      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe(`${type}; charset=utf-8`);
      expect(headers.get('content-language')).toBe(language);
      for (const text of [title, amount, chargeIdOf(paid), paid.reference]) expect(body).toContain(text);
    }
  });

  it.each([
    ['*/*', 'application/json'],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'text/html'],
    ['text/*', 'text/html'],
    ['text/plain; charset=UTF-8', 'text/plain'],
    ['image/png, text/plain;q=0.1', 'text/plain'],
  ])('for Accept %s is %s', async (accept, type) => {
    const { status, headers } = await receiptOf(paid.id, '', { accept });
    expect({ status, type: headers.get('content-type') }).toEqual({ status: 200, type: `${type}; charset=utf-8` });
  });

  it('stays as it is after a refund', async () => {
    const before = await receiptOf(paid.id);
    await refund('return-18', { amount: 2_000 });
    expect((await receiptOf(paid.id)).body).toEqual(before.body);
  });

  it('is a page that fits paper of 80 mm, runs no script, and can be read by everyone', async ({ skip }) => {
    if (opened.browser === null) return skip(opened.reason);
    const context = await opened.browser.newContext({
      viewport: { width: PAPER_PX, height: 800 },
      extraHTTPHeaders: { authorization: `Bearer ${KEYS.checkout}`, accept: 'text/html' },
    });
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => complaints.push(message.text()));
    await page.goto(`${stack.api.url}/v1/checkouts/${paid.id}/receipt`);
    expect(await page.evaluate<string[]>(ACCESSIBILITY_PROBLEMS)).toEqual([]);
    expect(await page.getByText('Sunrise <Coffee>').count()).toBe(1);
    // The policy permits the style: without it the text is not centred.
    expect(await page.evaluate<string>("getComputedStyle(document.querySelector('h1')).textAlign")).toBe('center');
    await page.emulateMedia({ media: 'print' });
    expect(await page.evaluate<string[]>(ACCESSIBILITY_PROBLEMS)).toEqual([]);
    expect(complaints.filter((text) => !text.includes('favicon'))).toEqual([]);
    await context.close();
  });
});

describe('the receipt of a refund', () => {
  it('has the amount of the refund, and the original payment', async () => {
    const { status, body } = await receiptOf(paid.id, '?refund=return-17');
    expect({ status, body }).toMatchObject({
      status: 200,
      body: {
        kind: 'refund',
        amount: 50_000,
        amount_text: 'THB 500.00',
        payment: { charge_id: chargeIdOf(paid), amount: 150_000, paid_at: paid.paid_at },
        refund: { key: 'return-17', kind: 'refund', id: expect.stringMatching(/^rfnd_/) },
      },
    });
  });

  it('is also a page and a text', async () => {
    for (const accept of ['text/html', 'text/plain']) {
      const { body } = await receiptOf<string>(paid.id, '?refund=return-17', { accept, 'accept-language': 'th' });
      for (const text of ['ใบรับเงินคืน', '฿500.00', '฿1,500.00']) expect(body).toContain(text);
    }
  });

  it('is refused with 409 when the provider has not made the refund', async () => {
    stack.sandbox.faults.add({
      method: 'POST',
      path: '/charges/{id}/refunds',
      action: 'status',
      status: 400,
      times: 1,
    });
    const { body } = await refund('return-19', { amount: 3_000 });
    expect(body.status).toBe('rejected');
    expect(await receiptOf<ProblemJson>(paid.id, '?refund=return-19')).toMatchObject({
      status: 409,
      body: { code: 'not_refunded', detail: 'The refund is rejected' },
    });
  });
});

describe('a request for a receipt', () => {
  it('is refused with 409 before the payment', async () => {
    expect(await receiptOf<ProblemJson>(unpaid.id)).toMatchObject({ status: 409, body: { code: 'not_paid' } });
  });

  it('needs only the key: the API ignores a link beside it, even a broken one', async () => {
    const { status, body } = await receiptOf(paid.id, '?refund=return-17&expires=&sig=');
    expect({ status, body }).toMatchObject({ status: 200, body: { kind: 'refund' } });
  });

  it.each([
    ['', 'chk_default_nothing'],
    ['?refund=nothing', null],
  ])('is refused with 404 when the checkout or its refund is unknown', async (query, id) => {
    expect(await receiptOf<ProblemJson>(id ?? paid.id, query)).toMatchObject({
      status: 404,
      body: { code: 'not_found' },
    });
  });

  it('is refused with 406 when it accepts no type that a receipt has, and the answer says that Accept decides', async () => {
    const { status, body, headers } = await receiptOf<ProblemJson>(paid.id, '', { accept: 'application/pdf' });
    expect({ status, code: body.code }).toEqual({ status: 406, code: 'not_acceptable' });
    expect(headers.get('vary')).toBe('Accept, Accept-Language');
  });

  it('without a key is refused with 401', async () => {
    const answer = await stack.request('GET', `/v1/checkouts/${paid.id}/receipt`, { key: null });
    expect(answer.status).toBe(401);
  });
});
