import { apiSettings, documents, startApi } from '@tillflow/api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EventReader } from './support/event-reader.js';
import { eventually } from './support/eventually.js';
import { KeysFile, SCOPES, tokenOf, type KeyEntry, type Scope } from './support/keys-file.js';
import { chargeIdOf, newReference, Stack, type CheckoutJson, type ProblemJson } from './support/stack.js';

const keys = new KeysFile();

const SHOP: readonly Scope[] = ['checkouts:read', 'checkouts:write', 'refunds:write'];
const MANAGER: readonly Scope[] = [...SHOP, 'refunds:approve'];
const SOON = new Date(Date.now() + 3_600_000).toISOString();
const entries: readonly KeyEntry[] = [
  ...SCOPES.map((scope) => ({ name: `only-${scope.replace(':', '-')}`, scopes: [scope] })),
  { name: 'silom', scopes: MANAGER, stores: ['silom'] },
  { name: 'siam', scopes: SHOP, stores: ['siam', 'siam-2'] },
  { name: 'till-7', scopes: SHOP, stores: ['silom'], terminals: ['till-7'], refund_limit: { THB: 1_000 } },
  { name: 'soon', scopes: SHOP, not_after: SOON },
  { name: 'expired', scopes: SHOP, not_after: '2020-01-01T00:00:00Z' },
];

let stack: Stack;
beforeAll(async () => {
  keys.write(entries);
  stack = await Stack.start({ api: { KEYS_FILE: keys.path, STREAM_HEARTBEAT_MS: '200' } });
});
afterAll(async () => {
  await stack.stop();
  keys.remove();
});

const as = <T = CheckoutJson>(name: string, method: string, path: string, body?: unknown, headers = {}) =>
  stack.request<T>(method, path, { key: tokenOf(name), body, headers });

const begin = (name: string, more: object = {}, reference = newReference()) =>
  as(name, 'POST', '/v1/checkouts', { reference, amount: 5_000, currency: 'THB', ...more });

/** The operations that each scope opens, written down here again: the API has its own table. */
const OPENS: Readonly<Record<Scope, readonly string[]>> = {
  'checkouts:read': [
    'listCheckouts',
    'getCheckout',
    'getTimeline',
    'getCheckoutReceipt',
    'getQrImage',
    'watchCheckout',
    'getAvailability',
    'listRefunds',
  ],
  'checkouts:write': ['createCheckout', 'cancelCheckout', 'createAttempt', 'revokeCounterLink'],
  'refunds:write': ['createRefund'],
  'refunds:approve': ['approveRefund', 'rejectRefund'],
  ops: `
    listCounterLinks getDayReport getCodecAddress getMetrics markCharge
    startReconciliation listReconciliations getReconciliation exportReconciliation acknowledgeBreak
    createEventEndpoint listEventEndpoints getEventEndpoint updateEventEndpoint deleteEventEndpoint
    rotateEventEndpointSecret testEventEndpoint replayEvents listEventDeliveries
    createRecurringPlan listRecurringPlans getRecurringPlan listOccurrences stopRecurringPlan
    getDispute addEvidence listEvidence getEvidence removeEvidence
    getCustomer listCards getCard updateCard removeCard
    getAccount updateAccount listApiVersions upgradeApiVersion
    listReceipts getReceipt listTransactions getTransaction listProviderEvents getProviderEvent
  `
    .trim()
    .split(/\s+/),
};
/** They need `checkouts:read` and `checkouts:write`. */
const NEED_TWO = ['createCounterLink'];
const FOR_EVERY_KEY = ['getKey'];
const FOR_SESSIONS = ['getCounterSession', 'getCounterDay'];
const FOR_EVERYONE = ['openCounterSession', 'receiveWebhook', 'receiveAccountWebhook', 'getLiveness', 'getReadiness'];

type Document = { paths: Record<string, Record<string, { operationId: string }>> };
const { paths } = JSON.parse(documents().get('openapi.json') ?? '') as Document;
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { operationId }]) => ({ id: operationId, method: method.toUpperCase(), path })),
);

/** Calls an operation with ids that nothing has, and with a body that no route accepts. */
async function call(id: string, key: string | null): Promise<{ status: number; code: string | undefined }> {
  const operation = operations.find((one) => one.id === id);
  if (operation === undefined) throw new Error(`There is no operation ${id}`);
  const path = operation.path.replaceAll(/\{\w+\}/g, 'chk_default_of-no-one');
  const body = operation.method === 'GET' || operation.method === 'DELETE' ? undefined : { unknown: true };
  const { status, body: answer } = await stack.request<ProblemJson>(operation.method, path, { key, body });
  return { status, code: answer.code };
}

describe('the scopes of a key', () => {
  it('are known for every operation of the API', () => {
    const all = [...Object.values(OPENS).flat(), ...NEED_TWO, ...FOR_EVERY_KEY, ...FOR_SESSIONS, ...FOR_EVERYONE];
    expect(all.toSorted()).toEqual(operations.map(({ id }) => id).toSorted());
  });

  /** The operations that do not answer with the status. */
  const notAnswering = async (status: number, ids: readonly string[], key: string | null): Promise<string[]> => {
    const wrong: string[] = [];
    for (const id of ids) {
      const answer = await call(id, key);
      if (answer.status !== status) wrong.push(`${id}: ${answer.status}`);
    }
    return wrong;
  };

  it.each(SCOPES)('open with %s its operations and no others', async (scope) => {
    const key = tokenOf(`only-${scope.replace(':', '-')}`);
    const opened = OPENS[scope];
    for (const id of opened) expect([401, 403]).not.toContain((await call(id, key)).status);
    const closed = Object.values(OPENS)
      .flat()
      .filter((id) => !opened.includes(id));
    expect(await notAnswering(403, [...closed, ...NEED_TWO, ...FOR_SESSIONS], key)).toEqual([]);
    expect(await notAnswering(200, FOR_EVERY_KEY, key)).toEqual([]);
  });

  it('open nothing without a known key, and nothing with an expired one', async () => {
    const all = [...Object.values(OPENS).flat(), ...NEED_TWO, ...FOR_EVERY_KEY, ...FOR_SESSIONS];
    expect(await notAnswering(401, all, null)).toEqual([]);
    const expired = await as<ProblemJson>('expired', 'GET', '/v1/me');
    expect(expired).toMatchObject({ status: 401, body: { code: 'unauthorized', detail: 'The key has expired' } });
    expect((await as('unknown', 'GET', '/v1/me')).status).toBe(401);
  });

  it('are refused for the whole account when the key is for one store', async () => {
    expect(await notAnswering(403, OPENS.ops, tokenOf('silom'))).toEqual([]);
  });
});

describe('GET /v1/me', () => {
  it('says what the key may do, and nothing that helps to use it', async () => {
    const { status, body } = await as('till-7', 'GET', '/v1/me');
    expect(status).toBe(200);
    expect(body).toEqual({
      name: 'till-7',
      account: 'default',
      scopes: SHOP,
      stores: ['silom'],
      terminals: ['till-7'],
      not_after: null,
      refund_limit: { THB: 1_000 },
    });
  });
});

describe('a key of one store', () => {
  it('does not find the checkouts of another one, with any operation of a checkout', async () => {
    const { body: theirs } = await begin('siam', { store: { id: 'siam-2' } });
    const { body: own } = await begin('silom');
    expect(own.store).toMatchObject({ id: 'silom' });
    const requests = [
      ['GET', ''],
      ['GET', '?wait=1'],
      ['GET', '/timeline'],
      ['GET', '/qr'],
      ['GET', '/receipt'],
      ['GET', '/refunds'],
      ['GET', '/events'],
      ['HEAD', '/events'],
      ['POST', '/cancel'],
      ['POST', '/attempts', { after: 1 }],
      ['POST', '/refunds', { amount: 100 }],
      ['POST', '/refunds/one/approve'],
      ['POST', '/refunds/one/reject'],
    ] as const;
    for (const [method, path, body] of requests) {
      const answer = await as<ProblemJson>('silom', method, `/v1/checkouts/${theirs.id}${path}`, body, {
        'idempotency-key': 'one',
      });
      expect([method, path, answer.status]).toEqual([method, path, 404]);
      if (method !== 'HEAD') expect(answer.body.code).toBe('not_found');
    }
    expect((await as('silom', 'GET', `/v1/checkouts/${own.id}`)).status).toBe(200);
    expect((await as('siam', 'GET', `/v1/checkouts/${theirs.id}`)).body.status).toBe('awaiting_payment');
  });

  it('lists only its own checkouts, whatever it asks for', async () => {
    const [{ body: own }, { body: theirs }, { body: none }] = await Promise.all([
      begin('silom'),
      begin('siam', { store: { id: 'siam' } }),
      begin('only-checkouts-write'),
    ]);
    const listed = async (name: string, query = '') => {
      const { body } = await as<{ data: CheckoutJson[] }>(name, 'GET', `/v1/checkouts?limit=100${query}`);
      return body.data;
    };
    await eventually(async () => {
      expect((await listed('only-checkouts-read')).map(({ id }) => id)).toEqual(
        expect.arrayContaining([own.id, theirs.id, none.id]),
      );
    });
    expect((await listed('silom')).every(({ store }) => store?.id === 'silom')).toBe(true);
    expect((await listed('siam')).every(({ store }) => store?.id === 'siam' || store?.id === 'siam-2')).toBe(true);
    for (const query of ['&store=siam', `&reference=${theirs.reference}`]) {
      expect(await listed('silom', query)).toEqual([]);
      expect((await listed('siam', query)).map(({ id }) => id)).toContain(theirs.id);
    }
  });

  it('sells only there: one store is meant without a name, of several the request names one', async () => {
    const forbidden = { status: 403, body: { code: 'forbidden' } };
    expect(await begin('silom', { store: { id: 'siam' } })).toMatchObject(forbidden);
    expect(await begin('siam')).toMatchObject(forbidden);
    expect(await begin('till-7', { terminal: 'till-8' })).toMatchObject(forbidden);
    expect(await begin('till-7')).toMatchObject({ status: 201, body: { terminal: 'till-7', store: { id: 'silom' } } });
    const { body: theirs } = await begin('siam', { store: { id: 'siam' } });
    const taken = await begin('silom', { amount: 70_000 }, theirs.reference);
    expect(taken).toMatchObject({ status: 409, body: { code: 'reference_conflict' } });
    expect(JSON.stringify(taken.body)).not.toContain('50.00');
  });

  it('creates and revokes links to counters of its own tills only', async () => {
    const create = (name: string, store: string) =>
      as<{ id: string }>(name, 'POST', '/v1/counter-links', { terminal: 'till-1', store: { id: store } });
    expect((await create('silom', 'siam')).status).toBe(403);
    const { status, body } = await create('siam', 'siam');
    expect(status).toBe(201);
    expect((await as('silom', 'DELETE', `/v1/counter-links/${body.id}`)).status).toBe(404);
    expect((await as('siam', 'DELETE', `/v1/counter-links/${body.id}`)).status).toBe(204);
  });
});

describe('a key of one store that waits', () => {
  it('waits for a checkout that no one knows yet, and gets it only when it is its own', async () => {
    const [own, theirs] = [newReference(), newReference()];
    const wait = (reference: string) =>
      as<ProblemJson>('silom', 'GET', `/v1/checkouts/chk_default_${reference}?wait=5&after_version=0`);
    const waiting = [wait(own), wait(theirs)];
    // The guard has found neither of them.
    await new Promise((resolve) => setTimeout(resolve, 700));
    await begin('silom', {}, own);
    await begin('siam', { store: { id: 'siam' } }, theirs);
    const [mine, other] = await Promise.all(waiting);
    expect(mine).toMatchObject({ status: 200, body: { reference: own } });
    expect(other).toMatchObject({ status: 404, body: { code: 'not_found' } });
  });
});

describe('a key with a refund limit', () => {
  it('is limited by the workflow also where only the API knows the limit', async () => {
    const { body } = await begin('till-7');
    stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
    await stack.untilStatus(body.id, 'paid');
    const refund = (key: string, amount: number) =>
      as('till-7', 'POST', `/v1/checkouts/${body.id}/refunds`, { amount }, { 'idempotency-key': key });
    expect(await refund('a', 1_001)).toMatchObject({ status: 202, body: { status: 'needs_approval' } });
    expect(await refund('b', 1_000)).toMatchObject({ status: 201, body: { status: 'succeeded' } });
  });
});

describe('a key that expires', () => {
  it('creates links to counters that expire with it', async () => {
    const till = { terminal: 'till-1' };
    const { body } = await as<{ expires_at: string }>('soon', 'POST', '/v1/counter-links', till);
    expect(Date.parse(body.expires_at)).toBeLessThanOrEqual(Date.parse(SOON));
    expect(Date.parse(body.expires_at)).toBeGreaterThan(Date.parse(SOON) - 10_000);
  });
});

describe('a KEYS_FILE that changes', () => {
  const after = [...entries, { name: 'new', scopes: SHOP }];
  const inForce = (name: string, status: number): Promise<void> =>
    eventually(async () => {
      expect((await as(name, 'GET', '/v1/me')).status).toBe(status);
    });

  it('is in force at once: with a rotation, no request fails with a key while it is valid', async () => {
    keys.write([...entries, { name: 'old', scopes: SHOP }]);
    await inForce('old', 200);
    const failed: number[] = [];
    let use = ['old'];
    const over = new AbortController();
    let count = 0;
    const till = async (): Promise<void> => {
      while (!over.signal.aborted) {
        for (const name of use) {
          const { status } = await as(name, 'GET', '/v1/me');
          count += 1;
          if (status !== 200) failed.push(status);
        }
      }
    };
    const tills = Array.from({ length: 8 }, till);
    keys.write([...entries, { name: 'old', scopes: SHOP }, { name: 'new', scopes: SHOP }]);
    await inForce('new', 200);
    use = ['old', 'new'];
    await inForce('new', 200);
    use = ['new'];
    // The requests with the old key that were on their way have ended.
    const before = count;
    await eventually(async () => expect(count).toBeGreaterThan(before + 100));
    keys.write(after);
    await inForce('old', 401);
    over.abort();
    await Promise.all(tills);
    expect(failed).toEqual([]);
  });

  it('ends the streams of a key that it no longer has', async () => {
    keys.write([...entries, { name: 'leaving', scopes: SHOP }]);
    await inForce('leaving', 200);
    const { body } = await begin('leaving');
    const reader = await EventReader.open(`${stack.api.url}/v1/checkouts/${body.id}/events`, {
      authorization: `Bearer ${tokenOf('leaving')}`,
    });
    await reader.until(() => true);
    keys.write(after);
    await reader.ended;
    expect((await as('leaving', 'GET', '/v1/me')).status).toBe(401);
  });

  it('changes nothing while it is half-written, and the log names the lines', async () => {
    keys.writeText('- name: till-7\n  sha256: 12');
    await eventually(async () => {
      expect(stack.logs.some((line) => line.includes('KEYS_FILE is wrong') && line.includes('line 2'))).toBe(true);
    });
    expect((await as('new', 'GET', '/v1/me')).status).toBe(200);
    keys.write(entries);
    await inForce('new', 401);
  });

  it('keeps an API from starting when it is wrong at the start', async () => {
    const wrong = new KeysFile();
    wrong.writeText('- name: a b\n  scopes: [all]\n');
    const settings = apiSettings({ ...stack.apiEnvironment(), KEYS_FILE: wrong.path });
    await expect(startApi(settings, stack.logger)).rejects.toThrow(
      /KEYS_FILE, line 1: .*name[^]*KEYS_FILE, line 2: .*scopes/,
    );
  });
});
