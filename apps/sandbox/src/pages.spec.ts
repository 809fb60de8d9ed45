import { describe, expect, it } from 'vitest';
import { scanQr } from '../../../test/support/scan-qr.js';
import type { ChargeJson } from './index.js';
import { NEW_CHARGE, openSandbox, type Bench } from '../test/harness.js';

const createCharge = async ({ call }: Bench, form: Record<string, string> = {}): Promise<ChargeJson> =>
  (await call<ChargeJson>('POST', '/charges', { form: { ...NEW_CHARGE, ...form } })).body;

const walletOf = (charge: ChargeJson): string => charge.source.scannable_code?.raw_data ?? '';

/** As a browser sends a form: the name and value of the button. */
const press = async (url: string, fields: Record<string, string>): Promise<Response> =>
  await fetch(url, { method: 'POST', body: new URLSearchParams(fields) });

describe('the QR code', () => {
  it('is an SVG, open without a key, that scans to the wallet page', async () => {
    const bench = await openSandbox();
    const charge = await createCharge(bench);
    const { image, raw_data } = charge.source.scannable_code ?? {};
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
    expect(charge.source.scannable_code?.image.download_uri).toMatch(/^https:\/\/pay\.example\/sandbox\/qr\//);
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
  it('shows what is paid and has a form to confirm and one to refuse', async () => {
    const bench = await openSandbox();
    const page = await (await fetch(walletOf(await createCharge(bench, { description: 'Tea & <b>cake</b>' })))).text();
    expect(page).toContain('THB 1,500.00');
    expect(page).toContain('Tea &amp; &lt;b&gt;cake&lt;/b&gt;');
    expect(page.match(/<form method="post">/g)).toHaveLength(2);
    expect(page).toContain('<button name="decision" value="confirm">');
    expect(page).toContain('<button name="decision" value="refuse">');
    expect(page).toContain('width=device-width');
  });

  it.each([
    ['confirm', 'successful', null],
    ['refuse', 'failed', 'payment_rejected'],
  ])('%s makes the charge %s, and a second press changes nothing', async (decision, status, failure_code) => {
    const bench = await openSandbox();
    const charge = await createCharge(bench);
    const response = await press(walletOf(charge), { decision });
    expect([response.status, response.redirected]).toEqual([200, true]);
    expect(await response.text()).toContain(`This payment is ${status}`);
    expect((await bench.call<ChargeJson>('GET', `/charges/${charge.id}`)).body).toMatchObject({ status, failure_code });
    expect((await press(walletOf(charge), { decision: 'confirm' })).status).toBe(409);
    expect(bench.sandbox.state().events).toHaveLength(2);
  });

  it('refuses another decision, or none', async () => {
    const bench = await openSandbox();
    const charge = await createCharge(bench);
    for (const fields of [{}, { decision: 'maybe' }] as Record<string, string>[]) {
      expect((await press(walletOf(charge), fields)).status).toBe(400);
    }
    expect((await fetch(walletOf(charge), { method: 'POST', body: '{}' })).status).toBe(400);
    expect(bench.sandbox.state().charges[0]?.status).toBe('pending');
  });
});

describe('the dashboard', () => {
  it('lists charges, newest first, escapes their texts, and offers both marks while they are pending', async () => {
    const bench = await openSandbox({ now: '2026-03-10T09:00:00Z', frozen: true });
    const old = await createCharge(bench, { description: '<script>alert(1)</script>' });
    bench.sandbox.advance(1);
    const young = await createCharge(bench, { description: `"'&` });
    bench.sandbox.mark(young.id, { status: 'successful' });
    const response = await fetch(`${bench.url}/`);
    const page = await response.text();
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(page.indexOf(young.id)).toBeLessThan(page.indexOf(old.id));
    expect(page).not.toContain('<script>');
    expect(page).toContain('&quot;&#39;&amp;');
    expect(page.match(/Mark successful/g)).toHaveLength(1);
    expect(page.match(/Mark failed/g)).toHaveLength(1);
    expect(page).toContain(`action="/dashboard/charges/${old.id}"`);
  });

  it.each(['successful', 'failed'])('marks a charge %s', async (status) => {
    const bench = await openSandbox();
    const charge = await createCharge(bench);
    const response = await press(`${bench.url}/dashboard/charges/${charge.id}`, { status, offset: '0' });
    expect(response.url).toBe(`${bench.url}/dashboard?offset=0`);
    expect(bench.sandbox.state().charges[0]?.status).toBe(status);
    expect((await press(`${bench.url}/dashboard/charges/${charge.id}`, { status })).status).toBe(400);
  });

  it('is paged', async () => {
    const bench = await openSandbox();
    for (let i = 0; i < 51; i += 1) await createCharge(bench);
    const first = await (await fetch(`${bench.url}/dashboard`)).text();
    const second = await (await fetch(`${bench.url}/dashboard?offset=50`)).text();
    const idsIn = (page: string): Set<string> => new Set(page.match(/chrg_test_[0-9a-z]+/g));
    expect(first).toContain('/dashboard?offset=50');
    expect(second).toContain('/dashboard?offset=0');
    expect(new Set([...idsIn(first), ...idsIn(second)]).size).toBe(51);
  });

  it.each(['/dashboard?offset=x', '/dashboard?offset=%'])('refuses %s with a page', async (path) => {
    const bench = await openSandbox();
    const response = await fetch(bench.url + path);
    expect([response.status, response.headers.get('content-type')]).toEqual([400, 'text/html; charset=utf-8']);
  });
});
