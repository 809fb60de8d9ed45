import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { webhooks, type Checkout, type Refund } from '@tillflow/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codeBlocks, runExample } from './support/examples.js';
import { chargeIdOf, KEYS, newReference, Stack, type CheckoutJson } from './support/stack.js';

const run = promisify(execFile);
const PAGE = 'docs/integrate.md';
const README = 'packages/sdk/README.md';

let stack: Stack;
let folder: string;
beforeAll(async () => {
  stack = await Stack.start();
  folder = await mkdtemp(join(tmpdir(), 'integrate-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await stack.stop();
});

/** A till whose customer pays as soon as the QR code is shown. */
function till() {
  const printed: string[] = [];
  const shown: string[] = [];
  const show = (text: string): void => {
    shown.push(text);
    const [, id] = /checkouts\/([^/]+)\/qr/.exec(text) ?? [];
    const [charge] = id === undefined ? [] : stack.chargesOf(id);
    if (charge !== undefined) stack.sandbox.mark(charge.id, { status: 'successful' });
  };
  return {
    given: { baseUrl: stack.api.url, key: KEYS.checkout, show, print: (text: string) => printed.push(text) },
    printed,
    shown,
  };
}

/** With names of this run, because one Temporal server serves all tests. */
function renamed(code: string): string {
  const names = new Map<string, string>();
  return code.replaceAll(/till-7[-\d]*/g, (name) => {
    names.set(name, names.get(name) ?? newReference());
    return names.get(name) ?? '';
  });
}

describe('the README of the SDK', () => {
  it('sells in at most 15 lines, and the sale ends with a receipt', async () => {
    const [sale = ''] = await codeBlocks(README, 'js');
    expect(sale.trim().split('\n').length).toBeLessThanOrEqual(15);
    const { given, printed, shown } = till();
    const { paid } = await runExample<{ paid: Checkout }>(renamed(sale), { folder, given, results: ['paid'] });
    expect(shown).toHaveLength(1);
    expect(paid).toMatchObject({ status: 'paid', amount: 150_000, currency: 'THB' });
    expect(printed.join()).toContain('THB 1,500.00');
  });

  it('shows how to watch, and how to treat a failed refund', async () => {
    const displayed: string[] = [];
    const { given } = till();
    const more = {
      ...given,
      display: (status: string) => displayed.push(status),
      retryLater: () => expect.fail('the outcome is known'),
      tellTheCashier: (message: string) => displayed.push(message),
    };
    const program = (await codeBlocks(README, 'js')).join('\n').replace('amount: 50_000', 'amount: 150_001');
    await runExample(renamed(program), { folder, given: more, results: [] });
    expect(displayed[0]).toBe('paid');
    expect(displayed[1]).toContain('refund_exceeds_paid');
  });
});

describe('docs/integrate.md', () => {
  it('shows a sale with the SDK, from the QR code to the receipt of its refund', async () => {
    const { given, printed, shown } = till();
    const program = renamed((await codeBlocks(PAGE, 'js', 'With the SDK')).join('\n'));
    const results = ['checkout', 'refund', 'last'];
    const ended = await runExample<{ checkout: Checkout; refund: Refund; last: Checkout }>(program, {
      folder,
      given,
      results,
    });
    expect(shown).toEqual([ended.checkout.qr?.image_url]);
    expect(ended.last.id).toBe(ended.checkout.id);
    expect(ended.refund).toMatchObject({ status: 'succeeded', amount: 50_000, key: 'return-17' });
    expect(printed[0]).toContain('THB 1,500.00');
    expect(printed[1]).toContain('THB 500.00');
    expect(await stack.untilStatus(ended.checkout.id, 'partially_refunded')).toMatchObject({ refunded_amount: 50_000 });
  });

  it('shows the same sale with curl', async ({ skip }) => {
    if (
      !(await run('curl', ['--version']).then(
        () => true,
        () => false,
      ))
    )
      return skip('curl is not installed');
    const reference = newReference();
    const [create, wait, pay, receipt] = await codeBlocks(PAGE, 'sh', 'With curl');
    const script = [
      create,
      `CHARGE=$(node -p "JSON.parse(fs.readFileSync('checkout.json')).attempts[0].charge_id")`,
      pay,
      `until grep -q '"status":"paid"' checkout.json; do`,
      wait,
      'done',
      receipt,
    ].join('\n');
    const env = { ...process.env, API: stack.api.url, KEY: KEYS.checkout, OPS_KEY: KEYS.ops };
    const named = script.replaceAll('till-8-000001', reference);
    const { stdout } = await run('bash', ['-euc', named], { cwd: folder, env, timeout: 60_000 });
    expect(stdout).toContain('THB 1,500.00');
    const refund = JSON.parse(await readFile(join(folder, 'refund.json'), 'utf8')) as Refund;
    expect(refund).toMatchObject({ status: 'succeeded', amount: 50_000, key: 'return-18' });
    const { body } = await stack.get(`/v1/checkouts/chk_default_${reference}`);
    expect(body).toMatchObject({ status: 'partially_refunded', refunded_amount: 50_000 });
  });

  describe('shows a receiver of events, which', () => {
    const secrets = ['whsec_bmV3IHNlY3JldCBvZiB0aGUgZW5kcG9pbnQ=', 'whsec_b2xkIHNlY3JldCBvZiB0aGUgZW5kcG9pbnQ='];
    const [events, sales] = [new Set<string>(), new Map<string, CheckoutJson>()];
    let receiver: Server;
    let url: string;
    let paid: CheckoutJson;
    beforeAll(async () => {
      const program = (await codeBlocks(PAGE, 'js', 'With events')).join('\n');
      ({ receiver } = await runExample<{ receiver: Server }>(program, {
        folder,
        given: { secrets, events, sales },
        results: ['receiver'],
      }));
      receiver.listen(0, '127.0.0.1');
      await once(receiver, 'listening');
      url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
      const body = await stack.open();
      stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
      paid = await stack.untilStatus(body.id, 'paid');
    });
    afterAll(() => receiver.close());

    /** @returns the status of the answer */
    async function deliver(id: string, data: CheckoutJson, secret: string | undefined = secrets[0]): Promise<number> {
      const body = JSON.stringify({ type: `checkout.${data.status}`, timestamp: new Date().toISOString(), data });
      const headers = await webhooks.sign(body, secret ?? '', { id });
      return (await fetch(url, { method: 'POST', body, headers })).status;
    }

    it('stores the newest state of a sale, in any order of the events', async () => {
      const older = { ...paid, status: 'awaiting_payment' as const, version: paid.version - 1 };
      expect([await deliver('evt_2', paid), await deliver('evt_1', older)]).toEqual([204, 204]);
      expect(sales.get(paid.id)).toEqual(paid);
      const newer = { ...paid, status: 'refunded' as const, version: paid.version + 1 };
      expect(await deliver('evt_3', newer, secrets[1])).toBe(204);
      expect(sales.get(paid.id)?.status).toBe('refunded');
    });

    it('accepts a repeated delivery and does nothing for it', async () => {
      await deliver('evt_4', paid);
      const before = new Map(sales);
      expect(await deliver('evt_4', { ...paid, version: 99 })).toBe(204);
      expect(sales).toEqual(before);
    });

    it('ends a request whose body is too large', async () => {
      const size = events.size;
      const large = { ...paid, description: 'x'.repeat(300_000) };
      await expect(deliver('evt_6', large)).rejects.toThrow('fetch failed');
      expect(events.size).toBe(size);
    });

    it('refuses what Tillflow did not sign', async () => {
      const size = events.size;
      expect(await deliver('evt_5', paid, 'whsec_bm90IHRoZSBzZWNyZXQ=')).toBe(400);
      expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(400);
      expect(events.size).toBe(size);
    });
  });
});
