import { describe, expect, it } from 'vitest';
import { openSandbox } from '../../test/harness.js';
import { createCharge, press, walletOf } from '../../test/pages.js';

describe('a page', () => {
  it('loads nothing from other sites, runs only its own script, and cannot be framed', async () => {
    const bench = await openSandbox();
    for (const path of ['/dashboard', '/dashboard/none', '/wallet/none']) {
      const { headers } = await fetch(bench.url + path);
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).toMatch(/script-src 'sha256-[A-Za-z0-9+/]+=*'(;|$)/);
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).toContain("form-action 'self'");
      expect(policy).not.toContain('unsafe');
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('cache-control')).toBe('no-store');
    }
  });
});

describe('a form', () => {
  it.each([
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['another host of the same site', { 'sec-fetch-site': 'same-site' }],
    ['another site, by a browser that sends only the origin', { origin: 'https://evil.example' }],
    ['a page without an origin', { origin: 'null' }],
    ['a forged origin', { 'sec-fetch-site': 'cross-site', origin: 'http://127.0.0.1' }],
  ])('sent by %s is refused and changes nothing', async (_who, headers) => {
    const bench = await openSandbox();
    const charge = await createCharge(bench);
    const { id } = charge;
    const forms: [string, Record<string, string>][] = [
      [walletOf(charge), { decision: 'confirm' }],
      [`${bench.url}/dashboard/charges/${id}`, { status: 'successful' }],
      [`${bench.url}/dashboard/charges/${id}/refunds`, { void: 'true' }],
    ];
    for (const [address, fields] of forms) expect((await press(address, fields, headers)).status).toBe(403);
    expect(bench.sandbox.state().charges[0]?.status).toBe('pending');
    expect(bench.sandbox.state().refunds).toEqual([]);
  });

  it.each(['own', 'public'])('sent by a page at the %s address is accepted', async (which) => {
    const bench = await openSandbox({ publicUrl: 'https://pay.example' });
    const { id } = await createCharge(bench);
    const origin = which === 'own' ? bench.url : 'https://pay.example';
    await press(`${bench.url}/dashboard/charges/${id}`, { status: 'successful' }, { origin });
    expect(bench.sandbox.state().charges[0]?.status).toBe('successful');
  });
});
