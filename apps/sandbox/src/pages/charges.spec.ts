import { describe, expect, it } from 'vitest';
import { openSandbox, type Bench } from '../../test/harness.js';
import { createCharge, open, press } from '../../test/pages.js';
import type { ChargeJson } from '../index.js';
import { FAILURE_CODES, FAILURE_MESSAGES } from '../records/records.js';

const AT = '2026-03-10T09:00:00.000Z';
const openAt = (): Promise<Bench> => openSandbox({ now: AT, frozen: true });
const idsIn = (page: string): Set<string> => new Set(page.match(/chrg_test_[0-9a-z]+/g));
const pageOf = ({ url }: Bench, { id }: ChargeJson): string => `${url}/dashboard/charges/${id}`;

async function createPaid(bench: Bench): Promise<ChargeJson> {
  const charge = await createCharge(bench);
  bench.sandbox.mark(charge.id, { status: 'successful' });
  return charge;
}

describe('the list of charges', () => {
  it('is newest first, escapes texts, and offers both marks for pending charges', async () => {
    const bench = await openAt();
    const old = await createCharge(bench, { description: '<script>alert(1)</script>' });
    bench.sandbox.advance(1);
    const young = await createCharge(bench, { description: `"'&` });
    bench.sandbox.mark(young.id, { status: 'successful' });
    const page = await open(`${bench.url}/`);
    expect(page.indexOf(young.id)).toBeLessThan(page.indexOf(old.id));
    expect(page).not.toContain('<script>alert');
    expect(page).toContain('&quot;&#39;&amp;');
    expect(page.match(/>Mark successful</g)).toHaveLength(1);
    expect(page.match(/>Mark failed</g)).toHaveLength(1);
    expect(page).toContain(`action="/dashboard/charges/${old.id}"`);
  });

  it.each(['successful', 'failed'])('marks a charge %s, and returns to the same list page', async (status) => {
    const bench = await openAt();
    const charge = await createCharge(bench);
    const list = 'status=pending&q=chrg&offset=50';
    const { url, page } = await press(pageOf(bench, charge), { status, list });
    expect(url).toBe(`${bench.url}/dashboard?status=pending&q=chrg&done=${status}&offset=50`);
    expect(page).toContain(`The charge is marked ${status}.`);
    expect(bench.sandbox.state().charges[0]?.status).toBe(status);
  });

  it('never redirects to another site', async () => {
    const bench = await openAt();
    const charge = await createCharge(bench);
    const { url } = await press(pageOf(bench, charge), { status: 'failed', list: '//evil.example/?q=x' });
    expect(url.startsWith(`${bench.url}/dashboard?`)).toBe(true);
  });

  it('is paged, and neither skips nor repeats one', async () => {
    const bench = await openAt();
    for (let i = 0; i < 51; i += 1) await createCharge(bench);
    const first = await open(`${bench.url}/dashboard`);
    const second = await open(`${bench.url}/dashboard?offset=50`);
    expect(first).toContain('href="/dashboard?offset=50"');
    expect(second).toContain('href="/dashboard"');
    expect([idsIn(first).size, idsIn(second).size]).toEqual([50, 1]);
    expect(new Set([...idsIn(first), ...idsIn(second)]).size).toBe(51);
    expect(await open(`${bench.url}/dashboard?offset=1000`)).toContain('51 charges');
  });

  it('keeps its filter from page to page', async () => {
    const bench = await openAt();
    for (let i = 0; i < 52; i += 1) await createCharge(bench, { 'metadata[order]': `A&B ${i}` });
    const first = await open(`${bench.url}/dashboard?status=pending&q=${encodeURIComponent('A&B')}`);
    expect(first).toContain('href="/dashboard?status=pending&amp;q=A%26B&amp;offset=50"');
    const second = await open(`${bench.url}/dashboard?status=pending&q=A%26B&offset=50`);
    expect(idsIn(second).size).toBe(2);
    expect(second).toContain('52 charges, 51 to 52');
  });

  it('filters by status', async () => {
    const bench = await openAt();
    const create = async (): Promise<string> => (await createCharge(bench)).id;
    const ids = {
      successful: await create(),
      failed: await create(),
      expired: await create(),
      refunded: await create(),
      voided: await create(),
      pending: await create(),
    };
    for (const id of [ids.successful, ids.refunded, ids.voided]) bench.sandbox.mark(id, { status: 'successful' });
    bench.sandbox.mark(ids.failed, { status: 'failed' });
    await bench.call('POST', `/charges/${ids.expired}/expire`);
    await bench.call('POST', `/charges/${ids.refunded}/refunds`, { form: { amount: 1 } });
    await bench.call('POST', `/charges/${ids.voided}/refunds`, { form: { void: true } });
    const shown = async (status: string) => [...idsIn(await open(`${bench.url}/dashboard?status=${status}`))];
    for (const status of ['failed', 'expired', 'refunded', 'voided', 'pending'] as const)
      expect(await shown(status)).toEqual([ids[status]]);
    expect(await shown('successful')).toEqual([ids.voided, ids.refunded, ids.successful]);
  });

  it('searches id, description and metadata in any case', async () => {
    const bench = await openAt();
    const one = await createCharge(bench, { description: 'Two Flat Whites' });
    const other = await createCharge(bench, { 'metadata[order]': 'A-17' });
    const found = async (q: string) => [...idsIn(await open(`${bench.url}/dashboard?q=${encodeURIComponent(q)}`))];
    expect(await found(one.id)).toEqual([one.id]);
    expect(await found('flat white')).toEqual([one.id]);
    expect(await found(' a-17 ')).toEqual([other.id]);
    expect(await found('nothing like it')).toEqual([]);
  });

  it('shows the search text, escaped', async () => {
    const bench = await openAt();
    const page = await open(`${bench.url}/dashboard?q=${encodeURIComponent('"><img src=x>')}`);
    expect(page).toContain('value="&quot;&gt;&lt;img src=x&gt;"');
    expect(page).not.toContain('<img');
  });

  it.each([
    '/dashboard?offset=x',
    '/dashboard?offset=%',
    '/dashboard?status=paid',
    '/dashboard?q[a]=1',
    '/dashboard?offset=1e3',
  ])('refuses %s with a page', async (path) => {
    const bench = await openAt();
    const response = await fetch(bench.url + path);
    expect([response.status, response.headers.get('content-type')]).toEqual([400, 'text/html; charset=utf-8']);
  });

  it.each(['/dashboard/charges/chrg_test_none', '/dashboard/charges/__proto__', '/dashboard/nowhere'])(
    'has no page %s',
    async (path) => {
      const bench = await openAt();
      const response = await fetch(bench.url + path);
      expect([response.status, response.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
    },
  );

  it('of a live sandbox offers no marks', async () => {
    const bench = await openSandbox({ livemode: true });
    const charge = await createCharge(bench);
    expect(await open(`${bench.url}/dashboard`)).not.toContain('Mark successful');
    expect(await open(pageOf(bench, charge))).not.toContain('Mark successful');
    expect((await press(pageOf(bench, charge), { status: 'successful' })).status).toBe(400);
    expect(bench.sandbox.state().charges[0]?.status).toBe('pending');
  });
});

describe('the page of a charge', () => {
  it('shows all its data, escaped, with its QR code and a link to the wallet page', async () => {
    const bench = await openAt();
    const charge = await createCharge(bench, {
      description: '<b>Tea</b>',
      'metadata[<i>]': '<u>',
      return_uri: 'https://shop.example/?a=1&b=2',
    });
    const page = await open(pageOf(bench, charge));
    for (const text of [
      'THB 1,500.00',
      'THB 24.75',
      'THB 1,473.52',
      charge.source?.id ?? '',
      '2026-03-11 09:00:00 UTC',
    ])
      expect(page).toContain(text);
    expect(page).toContain('&lt;b&gt;Tea&lt;/b&gt;');
    expect(page).toContain('metadata &lt;i&gt;');
    expect(page).toContain('https://shop.example/?a=1&amp;b=2');
    expect(page).toMatch(/<img class="qr" src="\/qr\/[0-9a-z]{24}\.svg"/);
    expect(page).toMatch(/href="\/wallet\/[0-9a-z]{24}"/);
    expect(page).not.toMatch(/<b>|<u>|<i>/);
  });

  it('has a timeline of its events and of future deadlines', async () => {
    const bench = await openAt();
    const charge = await createCharge(bench);
    expect(await open(pageOf(bench, charge))).toMatch(
      /charge\.create.*2026-03-11 09:00:00 UTC.*expires if it is not paid/s,
    );
    bench.sandbox.advance(60);
    bench.sandbox.mark(charge.id, { status: 'successful' });
    const page = await open(pageOf(bench, charge));
    expect(page).toMatch(
      /09:00:00.*charge\.create.*09:01:00.*charge\.complete.*16:15:00.*void window closes.*2027-03-10/s,
    );
    expect(page).not.toContain('expires if it is not paid');
  });

  it.each(FAILURE_CODES)('marks it failed with the reason %s', async (failure_code) => {
    const bench = await openAt();
    const charge = await createCharge(bench);
    const { url, page } = await press(pageOf(bench, charge), { status: 'failed', failure_code });
    expect(url).toBe(`${pageOf(bench, charge)}?done=failed`);
    expect(page).toContain(FAILURE_MESSAGES[failure_code]);
    expect(bench.sandbox.state().charges[0]).toMatchObject({ status: 'failed', failure_code });
  });

  it('says why a second mark is refused', async () => {
    const bench = await openAt();
    const charge = await createPaid(bench);
    const { status, page } = await press(pageOf(bench, charge), { status: 'failed' });
    expect(status).toBe(400);
    expect(page).toMatch(/role="alert"[^>]*>The charge is no longer pending: it is successful\./);
    expect(page).not.toContain('Mark failed');
    expect(bench.sandbox.state().charges[0]?.status).toBe('successful');
  });

  it.each([{}, { status: 'expired' }, { status: 'failed', failure_code: 'bored' }] as Record<string, string>[])(
    'refuses the mark %o',
    async (fields) => {
      const bench = await openAt();
      const charge = await createCharge(bench);
      expect((await press(pageOf(bench, charge), fields)).status).toBe(400);
      expect(bench.sandbox.state().charges[0]?.status).toBe('pending');
    },
  );
});

describe('a refund from the dashboard', () => {
  it('a refund of a part leaves the rest, and the page offers the rest next', async () => {
    const bench = await openAt();
    const charge = await createPaid(bench);
    expect(await open(pageOf(bench, charge))).toContain('value="1500.00"');
    const { page } = await press(`${pageOf(bench, charge)}/refunds`, { amount: '1,000.5' });
    expect(page).toContain('The refund is made.');
    expect(page).toContain('value="499.50"');
    expect(page).toContain('partial');
    expect(bench.sandbox.state().refunds).toMatchObject([{ amount: 100_050, voided: false }]);
    const last = await press(`${pageOf(bench, charge)}/refunds`, { amount: '499.50' });
    expect(last.page).toContain('The full amount is refunded.');
    expect(last.page).not.toContain('>Refund</button>');
  });

  it('the dashboard refunds in full, or voids while the window is open', async () => {
    const bench = await openAt();
    const [one, other] = [await createPaid(bench), await createPaid(bench)];
    expect((await press(`${pageOf(bench, one)}/refunds`, { amount: '1500' })).page).toContain('full');
    const { page } = await press(`${pageOf(bench, other)}/refunds`, { void: 'true' });
    expect(page).toContain('The charge is voided.');
    expect(bench.sandbox.state().refunds).toMatchObject([
      { amount: 150_000, voided: false },
      { amount: 150_000, voided: true },
    ]);
  });

  it('shows its windows, and offers what is inside of them', async () => {
    const bench = await openAt();
    const charge = await createPaid(bench);
    const page = await open(pageOf(bench, charge));
    expect(page).toMatch(/Refund is possible until <time[^>]*>2027-03-10 09:00:00 UTC/);
    expect(page).toMatch(/Void is possible until <time[^>]*>2026-03-10 16:15:00 UTC/);
    bench.sandbox.setNow('2026-03-10T16:15:00Z');
    const evening = await open(pageOf(bench, charge));
    expect(evening).toMatch(/Void is no longer possible: the window closed at <time[^>]*>2026-03-10 16:15:00 UTC/);
    expect(evening).not.toContain('>Void THB');
    expect(evening).toContain('>Refund</button>');
    bench.sandbox.setNow('2027-03-10T09:00:00.001Z');
    expect(await open(pageOf(bench, charge))).not.toContain('>Refund</button>');
  });

  it.each(['', '0', '-1', 'abc', '1.005', '1500.01', '1e3', '9'.repeat(30), '<b>'])(
    'of %o is refused, keeps what was entered, and changes nothing',
    async (amount) => {
      const bench = await openAt();
      const charge = await createPaid(bench);
      const { status, page } = await press(`${pageOf(bench, charge)}/refunds`, { amount });
      expect(status).toBe(400);
      expect(page).toContain('role="alert"');
      expect(page).toContain(`value="${amount.replace('<b>', '&lt;b&gt;')}"`);
      expect(bench.sandbox.state().refunds).toEqual([]);
    },
  );

  it('of an unpaid or unknown charge is refused', async () => {
    const bench = await openAt();
    const charge = await createCharge(bench);
    expect((await press(`${pageOf(bench, charge)}/refunds`, { amount: '1' })).status).toBe(400);
    expect((await press(`${bench.url}/dashboard/charges/none/refunds`, { amount: '1' })).status).toBe(404);
    expect(bench.sandbox.state().refunds).toEqual([]);
  });
});
