import { describe, expect, it } from 'vitest';
import { openReceiver, openSandbox, type Bench } from '../../test/harness.js';
import { createCharge, open, press } from '../../test/pages.js';

const AT = '2026-03-10T09:00:00.000Z';
const openAt = (now = AT): Promise<Bench> => openSandbox({ now, frozen: true });

describe('the events page', () => {
  it('shows each event, newest first, with its tries, the response and the next try', async () => {
    const bench = await openAt();
    const receiver = await openReceiver((index) => (index === 0 ? 500 : 200));
    bench.sandbox.webhooks.configure({ url: receiver.url });
    const charge = await createCharge(bench);
    await bench.sandbox.webhooks.idle();
    const [event] = bench.sandbox.state().events;
    const list = await open(`${bench.url}/dashboard/events`);
    expect(list).toMatch(/waiting<\/span> <span class="quiet">1 try/);
    expect(list).toContain('2026-03-10 09:00:05 UTC');
    expect(list).toContain(receiver.url);
    const page = await open(`${bench.url}/dashboard/events/${event?.id}`);
    expect(page).toContain('HTTP 500');
    expect(page).toContain(charge.id);
    bench.sandbox.advance(5);
    await bench.sandbox.webhooks.idle();
    expect(await open(`${bench.url}/dashboard/events`)).toMatch(/delivered<\/span> <span class="quiet">2 tries/);
    expect(await open(`${bench.url}/dashboard/events/${event?.id}`)).toContain('HTTP 200');
  });

  it('sends an event again', async () => {
    const bench = await openAt();
    const receiver = await openReceiver();
    bench.sandbox.webhooks.configure({ url: receiver.url });
    await createCharge(bench);
    await receiver.count(1);
    const [event] = bench.sandbox.state().events;
    const { url, page } = await press(`${bench.url}/dashboard/events/${event?.id}/send`);
    expect(url).toBe(`${bench.url}/dashboard/events/${event?.id}?done=sent`);
    expect(page).toContain('The event is sent again.');
    const [first, second] = await receiver.count(2);
    expect(second?.body).toBe(first?.body);
  });

  it('says that an event without an address cannot be sent', async () => {
    const bench = await openAt();
    await createCharge(bench);
    const [event] = bench.sandbox.state().events;
    const { status, page } = await press(`${bench.url}/dashboard/events/${event?.id}/send`);
    expect(status).toBe(400);
    expect(page).toContain('role="alert"');
    expect((await press(`${bench.url}/dashboard/events/none/send`)).status).toBe(404);
  });

  it('shows what the sandbox did to a delivery on purpose, and the webhook settings without the secret', async () => {
    const bench = await openAt();
    bench.sandbox.webhooks.configure({ url: 'http://127.0.0.1:9/', secret: 'c2VjcmV0', drop: 1 });
    await createCharge(bench);
    const [event] = bench.sandbox.state().events;
    expect(await open(`${bench.url}/dashboard/events/${event?.id}`)).toContain('dropped');
    const list = await open(`${bench.url}/dashboard/events`);
    expect(list).toContain('lost');
    expect(list).toContain('<dt>drop</dt><dd>1</dd>');
    expect(list).not.toContain('c2VjcmV0');
  });
});

describe('the faults page', () => {
  it('adds a fault with what was filled in, shows what it struck, and clears all', async () => {
    const bench = await openAt();
    const fields = {
      action: 'status',
      method: 'POST',
      path: '/charges',
      status: '503',
      times: '1',
      after: '',
      body: '',
    };
    const { url, page } = await press(`${bench.url}/dashboard/faults`, fields);
    expect(url).toBe(`${bench.url}/dashboard/faults?done=added`);
    expect(page).toContain('The fault was added.');
    expect(bench.sandbox.faults.list()).toEqual([
      { id: 1, action: 'status', method: 'POST', path: '/charges', status: 503, times: 1, matched: 0, struck: 0 },
    ]);
    await createCharge(bench);
    await createCharge(bench);
    expect(await open(`${bench.url}/dashboard/faults`)).toContain('>1 time of 1</a>');
    const struck = await open(`${bench.url}/dashboard/requests?fault=1`);
    expect(struck.match(/req_[0-9a-z]+/g)).toHaveLength(1);
    expect(struck).toContain('#1 status');
    const cleared = await press(`${bench.url}/dashboard/faults/clear`);
    expect(cleared.page).toContain('No fault is set any more.');
    expect(bench.sandbox.faults.list()).toEqual([]);
  });

  it.each([
    {},
    { action: 'explode' },
    { action: 'status', status: '42' },
    { action: 'status', times: '1.5' },
    { action: 'hang', path: 'charges' },
    { action: 'hang', probability: '2' },
    { action: 'hang', probability: 'often' },
    { action: 'hang', 'times[]': '1' },
  ] as Record<string, string>[])('refuses %o, keeps it in the form, and sets none', async (fields) => {
    const bench = await openAt();
    const { status, page } = await press(`${bench.url}/dashboard/faults`, { body: '"><b>', ...fields });
    expect(status).toBe(400);
    expect(page).toContain('role="alert"');
    expect(page).toContain('value="&quot;&gt;&lt;b&gt;"');
    expect(page).toMatch(/<details open>.*name="body"/s);
    expect(page).not.toContain('<b>');
    expect(bench.sandbox.faults.list()).toEqual([]);
  });
});

describe('the request log', () => {
  it('shows each request to the API, newest first, escaped, and none to the pages', async () => {
    const bench = await openAt();
    await createCharge(bench, { description: '<script>' });
    await bench.call('GET', '/charges/%3Cb%3E?x=%3Cu%3E', { key: 'wrong' });
    await fetch(`${bench.url}/favicon.ico`);
    const page = await open(`${bench.url}/dashboard/requests`);
    expect(page).toContain('2 requests');
    expect(page.indexOf('401')).toBeLessThan(page.indexOf('&lt;script&gt;'));
    expect(page).not.toMatch(/<script>|<b>|<u>/);
    expect(page).not.toContain(bench.sandbox.keys.secret);
    expect(await open(`${bench.url}/dashboard/requests?q=GET`)).toContain('1 request<');
  });
});

describe('the clock page', () => {
  it.each([
    [{ do: 'advance', by: 'hour' }, '2026-03-10T10:00:00.000Z'],
    [{ do: 'advance', by: 'day' }, '2026-03-11T09:00:00.000Z'],
    [{ do: 'advance', by: 'month' }, '2026-04-10T09:00:00.000Z'],
    [{ do: 'advance', count: '1.5', unit: 'minutes' }, '2026-03-10T09:01:30.000Z'],
    [{ do: 'set', now: '2026-12-24T18:00' }, '2026-12-24T18:00:00.000Z'],
    [{ do: 'set', now: '2026-12-24T18:00:00+07:00' }, '2026-12-24T11:00:00.000Z'],
  ])('%o goes to %s', async (fields, now) => {
    const bench = await openAt();
    const { url, page } = await press(`${bench.url}/dashboard/clock`, fields);
    expect(url).toBe(`${bench.url}/dashboard/clock?done=${fields.do}`);
    expect(page).toContain(now);
    expect(bench.sandbox.now()).toBe(now);
  });

  it.each([
    ['2027-01-31T12:00:00.000Z', '2027-02-28T12:00:00.000Z'],
    ['2028-01-31T12:00:00.000Z', '2028-02-29T12:00:00.000Z'],
    ['2026-12-15T12:00:00.000Z', '2027-01-15T12:00:00.000Z'],
  ])('a month after %s is %s', async (from, to) => {
    const bench = await openAt(from);
    await press(`${bench.url}/dashboard/clock`, { do: 'advance', by: 'month' });
    expect(bench.sandbox.now()).toBe(to);
  });

  it('freezes the clock and lets it move', async () => {
    const bench = await openAt();
    expect((await press(`${bench.url}/dashboard/clock`, { do: 'unfreeze' })).page).toContain('Freeze it');
    expect(bench.sandbox.frozen).toBe(false);
    expect((await press(`${bench.url}/dashboard/clock`, { do: 'freeze' })).page).toContain('Let it move');
    expect(bench.sandbox.frozen).toBe(true);
  });

  it.each([
    {},
    { do: 'stop' },
    { do: 'advance' },
    { do: 'advance', by: 'year' },
    { do: 'advance', count: '-1' },
    { do: 'advance', count: 'x', unit: 'days' },
    { do: 'advance', count: '1', unit: 'years' },
    { do: 'advance', count: '999999999999', unit: 'days' },
    { do: 'set' },
    { do: 'set', now: 'tomorrow' },
    { do: 'set', now: '2026-03-10T08:59:59' },
    { do: 'set', now: '2026-02-30T08:59' },
  ] as Record<string, string>[])('refuses %o and stays where it is', async (fields) => {
    const bench = await openAt();
    const { status, page } = await press(`${bench.url}/dashboard/clock`, fields);
    expect(status).toBe(400);
    expect(page).toContain('role="alert"');
    expect(bench.sandbox.now()).toBe(AT);
  });
});
