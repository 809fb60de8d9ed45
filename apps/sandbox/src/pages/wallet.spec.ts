import { describe, expect, it } from 'vitest';
import { scanQr } from '../../../../test/support/scan-qr.js';
import { openSandbox } from '../../test/harness.js';
import { createCharge, open, press, walletOf } from '../../test/pages.js';
import type { ChargeJson } from '../index.js';
import { FAILURE_CODES } from '../records/records.js';

const AT = '2026-03-10T09:00:00.000Z';

describe('the QR code', () => {
  it('is an SVG, open without a key, that scans to the wallet page', async () => {
    const bench = await openSandbox();
    const charge = await createCharge(bench);
    const { image, raw_data } = charge.source?.scannable_code ?? {};
    const response = await fetch(image?.download_uri ?? '');
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('image/svg+xml');
    expect(scanQr(await response.text())).toBe(raw_data);
    expect(raw_data).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/wallet\/[0-9a-z]{24}$/);
  });

  it('uses the public address when there is one', async () => {
    const bench = await openSandbox({ publicUrl: 'https://pay.example/sandbox/' });
    const charge = await createCharge(bench);
    expect(walletOf(charge)).toMatch(/^https:\/\/pay\.example\/sandbox\/wallet\/[0-9a-z]{24}$/);
    expect(charge.source?.scannable_code?.image.download_uri).toMatch(/^https:\/\/pay\.example\/sandbox\/qr\//);
  });

  it.each(['/qr/unknown.svg', '/qr/unknown', '/wallet/unknown', '/wallet/__proto__', '/qr/.svg'])(
    'at %s is not found',
    async (path) => {
      const bench = await openSandbox();
      const response = await fetch(bench.url + path);
      expect(response.status).toBe(404);
      expect(response.headers.get('content-type')).toContain('text/html');
    },
  );
});

describe('the wallet page', () => {
  it('shows shop, amount, description and expiry, escaped', async () => {
    const bench = await openSandbox({ now: AT, frozen: true });
    const charge = await createCharge(bench, {
      description: 'Tea & <b>cake</b>',
      'source[store_name]': '"Baan" <i>Coffee</i>',
    });
    const page = await open(walletOf(charge));
    expect(page).toContain('THB 1,500.00');
    expect(page).toContain('Tea &amp; &lt;b&gt;cake&lt;/b&gt;');
    expect(page).toContain('Pay &quot;Baan&quot; &lt;i&gt;Coffee&lt;/i&gt;');
    expect(page).toContain('2026-03-11 09:00:00 UTC');
  });

  it('changes nothing when it is opened', async () => {
    const bench = await openSandbox({ now: AT, frozen: true });
    const charge = await createCharge(bench);
    await open(walletOf(charge));
    expect((await bench.call<ChargeJson>('GET', `/charges/${charge.id}`)).body).toEqual(charge);
    expect((await bench.call('POST', `/charges/${charge.id}/expire`)).status).toBe(200);
  });

  it('confirms: the charge is successful, and a second press changes nothing', async () => {
    const bench = await openSandbox();
    const charge = await createCharge(bench);
    const { status, url, page } = await press(walletOf(charge), { decision: 'confirm' });
    expect([status, url]).toEqual([200, walletOf(charge)]);
    expect(page).toContain('Paid</h1>');
    expect(bench.sandbox.state().charges[0]).toMatchObject({ status: 'successful', failure_code: null });
    const again = await press(walletOf(charge), { decision: 'confirm' });
    expect(again.status).toBe(409);
    expect(again.page).toContain('Paid</h1>');
    expect(again.page).not.toContain('role="alert"');
    const other = await press(walletOf(charge), { decision: 'refuse' });
    expect(other.status).toBe(409);
    expect(other.page).toContain('This payment is already made. Nothing changed.');
    expect(bench.sandbox.state().events).toHaveLength(2);
  });

  it.each(FAILURE_CODES)('refuses with %s', async (reason) => {
    const bench = await openSandbox();
    const charge = await createCharge(bench);
    const { page } = await press(walletOf(charge), { decision: 'refuse', reason });
    expect(page).toContain('Payment failed</h1>');
    expect(bench.sandbox.state().charges[0]).toMatchObject({ status: 'failed', failure_code: reason });
  });

  it('refuses as the customer’s bank does when no reason is given', async () => {
    const bench = await openSandbox();
    await press(walletOf(await createCharge(bench)), { decision: 'refuse' });
    expect(bench.sandbox.state().charges[0]?.failure_code).toBe('payment_rejected');
  });

  it('under review keeps the shop from cancelling until the customer decides', async () => {
    const bench = await openSandbox();
    const charge = await createCharge(bench);
    expect((await press(walletOf(charge), { decision: 'review' })).page).toContain('You are reviewing the payment');
    expect((await bench.call('POST', `/charges/${charge.id}/expire`)).body.code).toBe('failed_expire');
    expect((await press(walletOf(charge), { decision: 'confirm' })).page).toContain('Paid</h1>');
  });

  it('lets the shop cancel again after the customer goes back', async () => {
    const bench = await openSandbox();
    const charge = await createCharge(bench);
    await press(walletOf(charge), { decision: 'review' });
    expect((await press(walletOf(charge), { decision: 'back' })).page).not.toContain('You are reviewing the payment');
    expect((await bench.call('POST', `/charges/${charge.id}/expire`)).status).toBe(200);
  });

  it('of an expired code has no button and accepts no decision', async () => {
    const bench = await openSandbox({ now: AT, frozen: true });
    const charge = await createCharge(bench);
    bench.sandbox.advance(86_400);
    const page = await open(walletOf(charge));
    expect(page).toContain('This code has expired</h1>');
    expect(page).not.toContain('<button');
    for (const decision of ['review', 'back', 'confirm', 'refuse']) {
      const late = await press(walletOf(charge), { decision });
      expect(late.status).toBe(409);
      expect(late.page).toContain('already expired');
    }
    expect(bench.sandbox.state().charges[0]?.status).toBe('expired');
  });

  it('refuses an unknown decision, an unknown reason, no decision, and a body that is not a form', async () => {
    const bench = await openSandbox();
    const charge = await createCharge(bench);
    for (const fields of [{}, { decision: 'maybe' }, { decision: 'refuse', reason: 'bored' }]) {
      expect((await press(walletOf(charge), fields as Record<string, string>)).status).toBe(400);
    }
    expect((await fetch(walletOf(charge), { method: 'POST', body: '{}' })).status).toBe(400);
    expect(bench.sandbox.state().charges[0]?.status).toBe('pending');
  });
});
