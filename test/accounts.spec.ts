import { createSandbox, type Sandbox } from '@tillflow/sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from './support/eventually.js';
import { isFull, MORE } from './support/full.js';
import { AccountsFile, KeysFile, tokenOf, type KeyEntry, type Scope } from './support/keys-file.js';
import {
  ALWAYS_VOIDABLE_MINUTES,
  chargeIdOf,
  newReference,
  Stack,
  type Answer,
  type CheckoutJson,
  type ProblemJson,
} from './support/stack.js';
import { forgetSchedules, operatorOf, tillflow } from './support/tillflow.js';

const ALL: readonly Scope[] = ['checkouts:read', 'checkouts:write', 'refunds:write', 'refunds:approve', 'ops'];
const entries: readonly KeyEntry[] = [
  { name: 'bangkok', scopes: ALL },
  { name: 'singapore', account: 'singapore', scopes: ALL },
  { name: 'singapore-clerk', account: 'singapore', scopes: ['refunds:write'], refund_limit: 0 },
];

const accounts = new AccountsFile();
const keys = new KeysFile();
/** The provider of the account `singapore`; that of the account `default` belongs to the stack. */
let singapore: Sandbox;
let singaporeUrl: string;
let stack: Stack;

const ofSingapore = () => ({
  base_url: singaporeUrl,
  secret_key: singapore.keys.secret,
  webhook_secret: singapore.keys.webhookSecrets,
  currencies: ['SGD'],
  SHOP_NAME: 'Orchard Road',
});

beforeAll(async () => {
  singapore = createSandbox({ assumptions: { voidRule: { dateOffsetMinutes: ALWAYS_VOIDABLE_MINUTES } } });
  ({ url: singaporeUrl } = await singapore.listen());
  accounts.write({ singapore: ofSingapore() });
  keys.write(entries);
  stack = await Stack.start({
    shared: { ACCOUNTS_FILE: accounts.path, KEYS_FILE: keys.path, EVENT_ENDPOINT_NETWORKS: '127.0.0.0/8' },
    api: { SHOP_NAME: 'Silom Road' },
  });
  singapore.webhooks.configure({ url: `${stack.api.url}/webhooks/provider/singapore` });
});
afterAll(async () => {
  await forgetSchedules(stack);
  await stack.stop();
  await singapore.close();
  accounts.remove();
  keys.remove();
});

const as = <T = CheckoutJson>(name: string, method: string, path: string, body?: unknown, headers = {}) =>
  stack.request<T>(method, path, { key: tokenOf(name), body, headers });

const sell = (name: string, currency: string, reference = newReference()): Promise<Answer> =>
  as(name, 'POST', '/v1/checkouts', { reference, amount: 15_000, currency });

async function untilPaid(name: string, { id }: CheckoutJson): Promise<CheckoutJson> {
  return eventually(async () => {
    const { body } = await as(name, 'GET', `/v1/checkouts/${id}`);
    expect(body.status).toBe('paid');
    return body;
  });
}

async function paidIn(name: string, currency: string, provider: Sandbox): Promise<CheckoutJson> {
  const { body } = await sell(name, currency);
  provider.mark(chargeIdOf(body), { status: 'successful' });
  return untilPaid(name, body);
}

describe('a further account', () => {
  it('sells, gets its webhooks and refunds at its own provider', async () => {
    const checkout = await paidIn('singapore', 'SGD', singapore);
    expect(checkout.id).toBe(`chk_singapore_${checkout.reference}`);
    expect(stack.chargesOf(checkout.id)).toEqual([]);
    const { body } = await as<{ status: string; amount: number }>(
      'singapore',
      'POST',
      `/v1/checkouts/${checkout.id}/refunds`,
      { amount: 5_000 },
      { 'idempotency-key': 'one' },
    );
    expect(body).toMatchObject({ status: 'succeeded', amount: 5_000 });
    expect(singapore.state().refunds.map(({ charge }) => charge)).toContain(chargeIdOf(checkout));
    const { body: receipt } = await as<{ shop: { name: string } }>(
      'singapore',
      'GET',
      `/v1/checkouts/${checkout.id}/receipt`,
    );
    expect(receipt.shop.name).toBe('Orchard Road');
    expect((await as('singapore', 'GET', '/v1/me')).body).toMatchObject({ account: 'singapore' });
  });

  it('may use a reference that another account has used, and has its own currencies', async () => {
    const { body } = await sell('bangkok', 'THB');
    const other = await sell('singapore', 'SGD', body.reference);
    expect([other.status, other.body.id]).toEqual([201, `chk_singapore_${body.reference}`]);
    expect((await sell('singapore', 'THB')).status).toBe(422);
  });

  it('keeps the limits of its own keys in its own workflows', async () => {
    const checkout = await paidIn('singapore', 'SGD', singapore);
    const headers = { 'idempotency-key': 'one' };
    const path = `/v1/checkouts/${checkout.id}/refunds`;
    const asked = await as<{ status: string }>('singapore-clerk', 'POST', path, { amount: 100 }, headers);
    expect([asked.status, asked.body.status]).toEqual([202, 'needs_approval']);
    expect((await as('bangkok', 'POST', `${path}/one/approve`)).status).toBe(404);
    const approved = await as<{ status: string }>('singapore', 'POST', `${path}/one/approve`);
    expect([approved.status, approved.body.status]).toEqual([200, 'succeeded']);
  });

  it('opens a counter of its own', async () => {
    const { body: link } = await as<{ url: string }>('singapore', 'POST', '/v1/counter-links', { terminal: 'till-1' });
    const [, token] = link.url.split('#');
    const opened = await stack.request<{ session: string; shop: string; currencies: string[] }>(
      'POST',
      '/v1/counter-sessions',
      { key: null, body: { token } },
    );
    expect(opened).toMatchObject({ status: 201, body: { shop: 'Orchard Road', currencies: ['SGD'] } });
    const body = { reference: newReference(), amount: 500, currency: 'SGD' };
    const { body: sold } = await stack.request('POST', '/v1/checkouts', { key: opened.body.session, body });
    expect(sold).toMatchObject({ id: `chk_singapore_${body.reference}`, terminal: 'till-1' });
  });

  it('is reconciled, listed and set up by its operator with --account', async () => {
    const checkout = await paidIn('singapore', 'SGD', singapore);
    const operate = async (...args: string[]) => {
      const { code, out } = await tillflow([...args, '--account', 'singapore', '--json'], operatorOf(stack));
      return { code, json: JSON.parse(out) as Record<string, unknown> };
    };
    expect(await operate('show', checkout.reference)).toMatchObject({ code: 0, json: { id: checkout.id } });
    await eventually(async () => {
      expect(JSON.stringify((await operate('list', '--status', 'paid')).json)).toContain(checkout.id);
    });
    const [from, to] = [new Date(Date.now() - 600_000).toISOString(), new Date(Date.now() + 60_000).toISOString()];
    const { json } = await operate('reconcile', '--from', from, '--to', to, '--dry-run');
    expect(JSON.stringify(json)).not.toContain('chk_default');
    const { json: steps } = await operate('setup', '--dry-run');
    // The worker has set up the schedules, and the provider has the address of this account.
    expect(JSON.stringify(steps)).not.toMatch(/schedule|webhooks/);
    singapore.webhooks.configure({ url: `${stack.api.url}/webhooks/provider` });
    expect(JSON.stringify((await operate('setup')).json)).toContain(
      `send webhooks to ${stack.api.url}/webhooks/provider/singapore instead of ${stack.api.url}/webhooks/provider`,
    );
    expect((await tillflow(['list', '--account', 'gone'], operatorOf(stack))).err).toContain(
      'No account is named gone. ACCOUNTS_FILE has default, singapore',
    );
  });

  it('has the label account in its metrics, and an ops key of default reads those of all accounts', async () => {
    const read = async (name: string) => (await as<string>(name, 'GET', '/metrics')).body;
    const [own, all] = [await read('singapore'), await read('bangkok')];
    expect(own).toMatch(/^tillflow_provider_calls_total\{.*account="singapore"/m);
    expect(own).not.toContain('account="default"');
    for (const account of ['default', 'singapore']) {
      expect(all).toMatch(new RegExp(`^tillflow_checkouts\\{.*account="${account}"`, 'm'));
    }
    // The process is there once, whatever it serves.
    expect(all.match(/^process_cpu_seconds_total\{/gm)).toHaveLength(1);
  });
});

describe('an account', () => {
  it('reaches nothing of another one', async () => {
    const theirs = await paidIn('singapore', 'SGD', singapore);
    const { body: link } = await as<{ id: string }>('singapore', 'POST', '/v1/counter-links', { terminal: 'till-9' });
    const { body: page } = await as<{ next_cursor: string }>('singapore', 'GET', '/v1/checkouts?limit=1');
    const headers = { 'idempotency-key': 'one' };
    const of = `/v1/checkouts/${theirs.id}`;
    const requests = [
      ['GET', of],
      ['GET', `${of}?wait=1`],
      ['GET', `${of}/timeline`],
      ['GET', `${of}/qr`],
      ['GET', `${of}/receipt`],
      ['GET', `${of}/refunds`],
      ['GET', `${of}/events`],
      ['POST', `${of}/cancel`],
      ['POST', `${of}/attempts`, { after: 1 }],
      ['POST', `${of}/refunds`, { amount: 100 }],
      ['POST', `${of}/refunds/one/approve`],
      ['DELETE', `/v1/counter-links/${link.id}`],
    ] as const;
    for (const [method, path, body] of requests) {
      const { status, body: answer } = await as<ProblemJson>('bangkok', method, path, body, headers);
      expect([method, path, status, answer.code]).toEqual([method, path, 404, 'not_found']);
    }
    const listed = await as<{ data: CheckoutJson[] }>('bangkok', 'GET', '/v1/checkouts?limit=100');
    expect(listed.body.data.filter(({ id }) => !id.startsWith('chk_default_'))).toEqual([]);
    const cursor = encodeURIComponent(page.next_cursor);
    expect((await as('bangkok', 'GET', `/v1/checkouts?limit=1&cursor=${cursor}`)).status).toBe(400);
    // The codec decrypts what Temporal stores for every account.
    expect((await as('singapore', 'POST', '/codec/decode', { payloads: [] })).status).toBe(403);
    expect((await as('singapore', 'GET', of)).body).toMatchObject({ status: 'paid', refunded_amount: 0 });
  });

  it('accepts only links and webhooks of its own', async () => {
    const { body: theirs } = await sell('singapore', 'SGD');
    const image = new URL(theirs.qr?.image_url ?? '');
    expect((await fetch(image)).status).toBe(200);
    const { body: own } = await sell('bangkok', 'THB', theirs.reference);
    image.pathname = image.pathname.replace(theirs.id, own.id);
    expect((await fetch(image)).status).toBe(401);
    // Signed by the other provider.
    singapore.webhooks.configure({ url: `${stack.api.url}/webhooks/provider` });
    singapore.mark(chargeIdOf(theirs), { status: 'successful' });
    await eventually(() => {
      expect(stack.logs.join('')).toMatch(/"msg":"webhook refused"/);
    });
    singapore.webhooks.configure({ url: `${stack.api.url}/webhooks/provider/singapore` });
    const unknown = await stack.request('POST', '/webhooks/provider/gone', { key: null, body: '{}' });
    expect(unknown.status).toBe(404);
  });
});

/** With FULL, ten thousand. */
const FUZZED = Number(process.env['FUZZED'] ?? (isFull ? 10_000 : 300));

it(`in ${FUZZED} random requests, a key gets nothing of another account`, { ...MORE, timeout: 1_800_000 }, async () => {
  const mark = 'only-in-singapore';
  const body = { reference: newReference(), amount: 15_000, currency: 'SGD', description: mark, terminal: mark };
  const { body: sold } = await as('singapore', 'POST', '/v1/checkouts', body);
  singapore.mark(chargeIdOf(sold), { status: 'successful' });
  const paid = await untilPaid('singapore', sold);
  const key = { 'idempotency-key': mark };
  await as('singapore', 'POST', `/v1/checkouts/${paid.id}/refunds`, { amount: 100, reason: mark }, key);
  const { customers, cards, disputes } = singapore.seedRecords({
    customers: [{ cards: [{ name: mark }] }],
    disputes: [{}],
  });
  const { body: link } = await as<{ id: string }>('singapore', 'POST', '/v1/counter-links', { terminal: mark });
  const endpoint = { url: 'http://127.0.0.1:9/in', description: mark };
  const { status, body: created } = await as<{ id: string }>('singapore', 'POST', '/v1/event-endpoints', endpoint);
  expect([status, created]).toEqual([201, expect.anything()]);
  const window = { from: new Date(Date.now() - 60_000).toISOString(), to: new Date().toISOString() };
  expect(link.id).toMatch(/^clnk_/);
  const { body: run } = await as<{ id: string }>('singapore', 'POST', '/v1/reconciliations', window);
  await as('singapore', 'POST', '/v1/checkouts', { ...body, reference: newReference() });
  const firstPage = () => as<{ next_cursor: string }>('singapore', 'GET', '/v1/checkouts?limit=1');
  // Temporal's search finds a new checkout after a moment.
  await expect.poll(async () => (await firstPage()).body.next_cursor).toEqual(expect.any(String));
  const { body: page } = await firstPage();
  expect([run.id, page.next_cursor]).toEqual([expect.stringMatching(/^rec_/), expect.any(String)]);
  const events = singapore.state().events.map(({ id }) => id);
  const ids: Readonly<Record<string, readonly (string | undefined)[]>> = {
    id: [
      paid.id,
      paid.reference,
      chargeIdOf(paid),
      link.id,
      created.id,
      run.id,
      customers[0],
      cards[0],
      disputes[0],
      ...events,
    ],
    other: [mark, '1', cards[0], ...events],
  };
  const random = seeded(20_261_125);
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  const routes = [
    ['GET', '/v1/checkouts/:id'],
    ['GET', '/v1/checkouts/:id/timeline'],
    ['GET', '/v1/checkouts/:id/qr'],
    ['GET', '/v1/checkouts/:id/receipt'],
    ['GET', '/v1/checkouts/:id/refunds'],
    ['GET', '/v1/checkouts/:id/events'],
    ['POST', '/v1/checkouts/:id/cancel'],
    ['POST', '/v1/checkouts/:id/attempts'],
    ['POST', '/v1/checkouts/:id/refunds'],
    ['POST', '/v1/checkouts/:id/refunds/:other/approve'],
    ['POST', '/v1/checkouts/:id/refunds/:other/reject'],
    ['DELETE', '/v1/counter-links/:id'],
    ['GET', '/v1/event-endpoints/:id'],
    ['DELETE', '/v1/event-endpoints/:id'],
    ['GET', '/v1/event-endpoints/:id/deliveries'],
    ['GET', '/v1/reconciliations/:id'],
    ['GET', '/v1/recurring-plans/:id'],
    ['GET', '/v1/recurring-plans/:id/occurrences'],
    ['GET', '/v1/customers/:id'],
    ['GET', '/v1/customers/:id/cards'],
    ['GET', '/v1/customers/:id/cards/:other'],
    ['GET', '/v1/disputes/:id'],
    ['GET', '/v1/disputes/:id/evidence'],
    ['GET', '/v1/transactions/:id'],
    ['GET', '/v1/provider-events/:id'],
    ['GET', '/v1/receipts/:id'],
    ['GET', `/v1/checkouts?limit=100&reference=${paid.reference}`],
    ['GET', `/v1/checkouts?terminal=${mark}`],
    ['GET', `/v1/checkouts?limit=1&cursor=${encodeURIComponent(page.next_cursor)}`],
    ['GET', '/v1/provider-events?limit=100'],
    ['GET', '/v1/counter-links'],
    ['GET', '/v1/event-endpoints'],
    ['GET', '/v1/reconciliations'],
  ] as const;
  const wrong: string[] = [];
  const one = async (): Promise<void> => {
    const [method, template] = pick(routes);
    const path = template.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(pick(ids[name] ?? []) ?? ''));
    const sent = template.endsWith('refunds')
      ? { amount: 100 }
      : template.endsWith('attempts')
        ? { after: 1 }
        : undefined;
    const answer = await as<unknown>('bangkok', method, path, method === 'POST' ? sent : undefined, key);
    const text = JSON.stringify(answer.body);
    const isList = template.includes('?') || !template.includes(':');
    // What has not the form of an id is refused before anyone looks for it.
    const isRight = isList ? [200, 400].includes(answer.status) : [404, 400].includes(answer.status);
    if (!isRight || text.includes(mark) || (answer.status === 200 && text.includes('chk_singapore'))) {
      wrong.push(`${method} ${path}: ${answer.status} ${text.slice(0, 200)}`);
    }
  };
  for (let sent = 0; sent < FUZZED; sent += 20) await Promise.all(Array.from({ length: 20 }, one));
  expect(wrong.slice(0, 5)).toEqual([]);
  // An id that exists elsewhere and one that exists nowhere have the same answer, and no one looks for either.
  const answerTo = async (id: string) => {
    const { status, body: found } = await as<ProblemJson>('bangkok', 'GET', `/v1/checkouts/${id}`);
    return { ...found, status, request_id: '' };
  };
  expect(await answerTo(paid.id)).toEqual(await answerTo('chk_singapore_of-no-one'));
  const after = (await as('singapore', 'GET', `/v1/checkouts/${paid.id}`)).body;
  expect(after).toMatchObject({ status: 'partially_refunded', refunded_amount: 100 });
  expect((await as('singapore', 'DELETE', `/v1/event-endpoints/${created.id}`)).status).toBe(204);
});

/** Numbers from 0 on and below 1, the same for the same seed. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

describe('ACCOUNTS_FILE', () => {
  it('adds an account, replaces its key and removes it while everything runs', async () => {
    const osaka = createSandbox({});
    const { url } = await osaka.listen();
    const entry = (secret: string) => ({ ...ofSingapore(), base_url: url, secret_key: secret, currencies: ['THB'] });
    const name = 'osaka';
    try {
      accounts.write({ singapore: ofSingapore(), osaka: entry('skey_test_wrong') });
      keys.write([...entries, { name, account: 'osaka', scopes: ALL }]);
      await eventually(async () => {
        expect((await as(name, 'GET', '/v1/me')).body).toMatchObject({ account: 'osaka' });
      });
      // The provider refuses the wrong key: no charge, and no QR code.
      const refused = await eventually(async () => {
        const answer = await sell(name, 'THB');
        expect([201, 202]).toContain(answer.status);
        return answer;
      });
      expect(refused.body.qr).toBeNull();
      expect(osaka.state().charges).toEqual([]);
      accounts.write({ singapore: ofSingapore(), osaka: entry(osaka.keys.secret) });
      await eventually(async () => {
        const { body } = await sell(name, 'THB');
        expect(body.qr).not.toBeNull();
      });
      expect(osaka.state().charges.length).toBeGreaterThan(0);
    } finally {
      accounts.write({ singapore: ofSingapore() });
      keys.write(entries);
      await osaka.close();
    }
    await eventually(async () => {
      expect((await as(name, 'GET', '/v1/me')).status).toBe(401);
    });
    expect((await sell('singapore', 'SGD')).status).toBe(201);
  });

  it('changes the account default, and its pages and sales go on', async () => {
    const before = await paidIn('bangkok', 'THB', stack.sandbox);
    accounts.write({ singapore: ofSingapore(), default: { SHOP_NAME: 'Silom Road, new' } });
    try {
      await eventually(async () => {
        const path = `/v1/checkouts/${before.id}/receipt`;
        const { body } = await as<{ shop: { name: string } }>('bangkok', 'GET', path);
        expect(body.shop.name).toBe('Silom Road, new');
      });
      for (const path of ['/counter', '/docs', '/openapi.json', '/health/ready']) {
        expect([path, (await fetch(`${stack.api.url}${path}`)).status]).toEqual([path, 200]);
      }
      expect((await paidIn('bangkok', 'THB', stack.sandbox)).status).toBe('paid');
    } finally {
      accounts.write({ singapore: ofSingapore() });
    }
  });

  it('with mistakes changes nothing, and names each with its line', async () => {
    accounts.writeText('singapore:\n  secret_key: skey_test_other\n  refunds: often\nUPPER: {}\nparis: {}\n');
    const counted = async () =>
      /^tillflow_settings_file_mistakes\{file="ACCOUNTS_FILE",account="default"\} (\d+)/m.exec(
        (await as<string>('bangkok', 'GET', '/metrics')).body,
      )?.[1];
    await eventually(async () => {
      const line = stack.logs.findLast((text) => text.includes('ACCOUNTS_FILE is wrong'));
      const { mistakes } = JSON.parse(line ?? '{}') as { mistakes: string[] };
      expect(mistakes).toEqual(
        expect.arrayContaining([
          'line 3: singapore: refunds: is not a setting of an account',
          'line 4: UPPER: the name of an account must have 1 to 32 of a-z 0-9 -, and not end with -events',
          'line 5: paris: PROVIDER_SECRET_KEY: is needed',
        ]),
      );
      // Other programs may find fewer mistakes in it: each needs settings of its own.
      expect(Number(await counted())).toBeGreaterThanOrEqual(3);
    });
    expect((await sell('singapore', 'SGD')).status).toBe(201);
    const { code, out } = await tillflow(['doctor', '--json'], operatorOf(stack));
    expect([code, out.includes('accounts_file_wrong')]).toEqual([1, true]);
    accounts.write({ singapore: ofSingapore() });
    await eventually(async () => expect(await counted()).toBe('0'));
  });
});
