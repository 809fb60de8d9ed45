import { createHash } from 'node:crypto';
import { COMMAND_WORKFLOW, type CommandMemo } from '@tillflow/workflows';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withHeldAnswer } from './support/held-answer.js';
import { asOperator, seedRecords, type SeededRecords } from './support/resources.js';
import { IMPATIENT, SETTLES_SOON, Stack, type Answer, type ProblemJson } from './support/stack.js';
import { textsIn } from './support/stored.js';
import { withStack } from './support/with-stack.js';

type CardJson = { id: string; name: string; city: string | null; expiration_year: number; status?: string };

let stack: Stack;
let seeded: SeededRecords;
beforeAll(async () => {
  stack = await Stack.start({ webhookUrl: null, api: SETTLES_SOON });
});
afterAll(() => stack.stop());

/** Fresh records for each test that changes them. */
const cardPath = (): string => {
  seeded = seedRecords(stack);
  return `/v1/customers/${seeded.customer}/cards/${seeded.card}`;
};
const fault = (method: string, path: string, more: object) =>
  stack.sandbox.faults.add({ method, path, times: 1, ...more } as Parameters<typeof stack.sandbox.faults.add>[0]);

const CARD_ROUTE = '/customers/{id}/cards/{card_id}';

describe('a card', () => {
  it('can be listed, read, changed and removed, and its customer no longer shows it then', async () => {
    const path = cardPath();
    const { customer, card } = seeded;
    const listed = await asOperator<{ data: CardJson[] }>(stack, 'GET', `/v1/customers/${customer}/cards`);
    expect(listed.body.data.map(({ id }) => id)).toContain(card);
    const changed = await asOperator<CardJson>(stack, 'PATCH', path, { body: { expiration_year: 2031, city: null } });
    expect(changed).toMatchObject({ status: 200, body: { id: card, expiration_year: 2031, city: null } });
    expect(await asOperator<CardJson>(stack, 'GET', path)).toMatchObject({ body: { expiration_year: 2031 } });
    expect(await asOperator(stack, 'DELETE', path)).toMatchObject({ status: 200, body: { id: card, deleted: true } });
    expect((await asOperator(stack, 'GET', path)).status).toBe(404);
    const shown = await asOperator<{ cards: { data: CardJson[] } }>(stack, 'GET', `/v1/customers/${customer}`);
    expect(shown.body.cards.data.map(({ id }) => id)).not.toContain(card);
  });

  it('is removed once: a second request gets the same answer without a call to the provider', async () => {
    const path = cardPath();
    await asOperator(stack, 'DELETE', path);
    const before = stack.requests(`DELETE ${CARD_ROUTE}`).length;
    expect(await asOperator(stack, 'DELETE', path)).toMatchObject({ status: 200, body: { deleted: true } });
    expect(stack.requests(`DELETE ${CARD_ROUTE}`).length).toBe(before);
  });

  it('is removed once also after the key of the provider has changed', async () => {
    const path = cardPath();
    await asOperator(stack, 'DELETE', path);
    const again = await stack.withApi({ PROVIDER_SECRET_KEY: 'skey_test_another' }, () =>
      asOperator(stack, 'DELETE', path),
    );
    expect(again).toMatchObject({ status: 200, body: { deleted: true } });
  });

  it('is reported as removed when the removal took effect and its answer was lost', async () => {
    const path = cardPath();
    fault('DELETE', CARD_ROUTE, { action: 'commit_then_reset', times: 4 });
    expect(await asOperator(stack, 'DELETE', path)).toMatchObject({ status: 200, body: { deleted: true } });
    stack.sandbox.faults.clear();
    expect((await asOperator(stack, 'GET', path)).status).toBe(404);
  });

  it.each(['commit_then_reset', 'reset_before', 'garbage_body'])(
    'is changed although the first answer is lost by %s',
    async (action) => {
      const path = cardPath();
      fault('PATCH', CARD_ROUTE, { action });
      const changed = await asOperator<CardJson>(stack, 'PATCH', path, { body: { name: `After ${action}` } });
      expect(changed).toMatchObject({ status: 200, body: { name: `After ${action}` } });
    },
  );

  it('has an unknown outcome (504) when the provider refuses the repeat of a change whose answer was lost', async () => {
    const path = cardPath();
    fault('PATCH', CARD_ROUTE, { action: 'commit_then_status', status: 502, times: 4 });
    fault('PATCH', CARD_ROUTE, { action: 'status', status: 400, times: undefined });
    const answer = await asOperator<ProblemJson>(stack, 'PATCH', path, { body: { city: 'Trang' } });
    stack.sandbox.faults.clear();
    expect(answer).toMatchObject({ status: 504, body: { code: 'outcome_unknown' } });
    expect((await asOperator<CardJson>(stack, 'GET', path)).body.city).toBe('Trang');
  });

  it('leaves no new value in Temporal, even when the provider repeats the value in its refusal', async () => {
    const path = cardPath();
    const city = 'Nakhon Ratchasima';
    const body = JSON.stringify({ object: 'error', code: 'bad_request', message: `${city} is no city` });
    fault('PATCH', CARD_ROUTE, { action: 'status', status: 400, body });
    const answer = await asOperator<ProblemJson>(stack, 'PATCH', path, { body: { city } });
    expect(answer).toMatchObject({ status: 422, body: { detail: expect.stringContaining('… is no city') } });
    const workflowId = `command/default/update_card/${seeded.customer}/${seeded.card}`;
    const history = textsIn((await stack.temporal.client.workflow.getHandle(workflowId).fetchHistory()).events);
    expect(history.includes('is no city')).toBe(true);
    expect(history.includes(city)).toBe(false);
  });

  it('that does not exist gets 404, and the provider gets only a read', async () => {
    const { customer } = seedRecords(stack);
    const before = stack.requests(`PATCH ${CARD_ROUTE}`).length;
    const path = `/v1/customers/${customer}/cards/card_test_none`;
    const answer = await asOperator<ProblemJson>(stack, 'PATCH', path, { body: { name: 'A' } });
    expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } });
    expect(stack.requests(`PATCH ${CARD_ROUTE}`).length).toBe(before);
  });

  it.each([
    ['DELETE', '/v1/recurring-plans/schd_test_0', 'stop_plan/schd_test_0'],
    ['DELETE', '/v1/customers/cust_test_0/cards/card_test_0', 'remove_card/cust_test_0/card_test_0'],
    ['PATCH', '/v1/customers/cust_test_0/cards/card_test_0', 'update_card/cust_test_0/card_test_0'],
    ['DELETE', '/v1/disputes/dspt_test_0/evidence/docu_test_0', 'delete_document/dspt_test_0/docu_test_0'],
  ])(
    'or any other record that does not exist leaves no workflow in Temporal: %s %s',
    async (method, path, workflow) => {
      for (let times = 0; times < 2; times += 1) {
        const body = method === 'PATCH' ? { body: { city: 'Bangkok' } } : {};
        const answer = await asOperator<ProblemJson>(stack, method, path, body);
        expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } });
      }
      const { workflow: workflows } = stack.temporal.client;
      await expect(workflows.getHandle(`command/default/${workflow}`).describe()).rejects.toThrow('not found');
    },
  );

  it('can be removed later when the provider refused the first removal, and the first workflow completes with the refusal', async () => {
    const path = cardPath();
    fault('DELETE', CARD_ROUTE, { action: 'status', status: 400, times: 1 });
    expect((await asOperator<ProblemJson>(stack, 'DELETE', path)).status).toBe(422);
    const workflow = stack.temporal.client.workflow.getHandle(
      `command/default/remove_card/${seeded.customer}/${seeded.card}`,
    );
    expect((await workflow.describe()).status.name).toBe('COMPLETED');
    expect(await workflow.result()).toMatchObject({ kind: 'rejected', status: 400 });
    stack.sandbox.faults.clear();
    expect(await asOperator(stack, 'DELETE', path)).toMatchObject({ status: 200, body: { deleted: true } });
    expect(await asOperator(stack, 'DELETE', path)).toMatchObject({ status: 200, body: { deleted: true } });
  });

  it('refuses a different change while a change is in progress, and an equal change joins the first one', async () => {
    const api = { ...SETTLES_SOON, CALL_DEADLINE_MS: '60000' };
    await withStack({ webhookUrl: null, api }, async (own) => {
      const { customer, card } = seedRecords(own);
      const change = (city: string) =>
        asOperator<CardJson>(own, 'PATCH', `/v1/customers/${customer}/cards/${card}`, { body: { city } });
      await withHeldAnswer(own, { method: 'PATCH', route: CARD_ROUTE }, async ({ arrived, release }) => {
        const first = change('Phuket');
        await arrived;
        const other = (await change('Rayong')) as Answer<unknown> as Answer<ProblemJson>;
        expect(other).toMatchObject({ status: 409, body: { code: 'change_in_progress' } });
        expect(other.body.detail).not.toContain('Phuket');
        const joined = change('Phuket');
        await expect.poll(() => own.logs.join('').includes('"joined":true')).toBe(true);
        release();
        expect((await first).body).toMatchObject({ city: 'Phuket' });
        expect((await joined).body).toMatchObject({ city: 'Phuket' });
        expect(own.requests(`PATCH ${CARD_ROUTE}`)).toHaveLength(1);
        expect(await change('Rayong')).toMatchObject({ status: 200, body: { city: 'Rayong' } });
      });
    });
  });

  it('is answered with 202 while the provider does not answer, and the repeated request gets the outcome later', async () => {
    const path = cardPath();
    fault('PATCH', CARD_ROUTE, { action: 'hang', times: undefined });
    const ask = () => asOperator<CardJson>(stack, 'PATCH', path, { body: { city: 'Trat' } });
    const pending = await stack.withApi(IMPATIENT, ask);
    expect(pending).toMatchObject({ status: 202, body: { status: 'pending' } });
    stack.sandbox.faults.clear();
    await expect.poll(async () => (await ask()).status).toBe(200);
  });
});

describe('the account', () => {
  it('can be read, changes only the given fields, and clears a field with null', async () => {
    const keys = { charge: ['order', 'till'] };
    const changed = await asOperator<Record<string, unknown>>(stack, 'PATCH', '/v1/account', {
      body: { webhook_uri: 'https://pay.example/hooks', metadata_export_keys: keys },
    });
    expect(changed).toMatchObject({
      status: 200,
      body: { webhook_uri: 'https://pay.example/hooks', metadata_export_keys: keys },
    });
    await asOperator(stack, 'PATCH', '/v1/account', { body: { chain_enabled: true } });
    const { body } = await asOperator<Record<string, unknown>>(stack, 'GET', '/v1/account');
    expect(body).toMatchObject({ webhook_uri: 'https://pay.example/hooks', chain_enabled: true });
    const cleared = await asOperator<Record<string, unknown>>(stack, 'PATCH', '/v1/account', {
      body: { webhook_uri: null },
    });
    expect(cleared.body['webhook_uri']).toBeNull();
  });

  it('moves to the newest version with `confirm: true`, also when the request is repeated', async () => {
    const old = await Stack.start({ webhookUrl: null, sandbox: { assumptions: { accountVersion: '2019-05-29' } } });
    try {
      const { body } = await asOperator<{ versions: string[]; api_version: string }>(
        old,
        'GET',
        '/v1/account/api-versions',
      );
      expect(body.api_version).toBe('2019-05-29');
      for (const _ of [1, 2]) {
        const upgraded = await asOperator(old, 'POST', '/v1/account/api-version', { body: { confirm: true } });
        expect(upgraded).toMatchObject({ status: 200, body: { api_version: body.versions.at(-1) } });
      }
    } finally {
      await old.stop();
    }
  });
});

describe('the audit of a command', () => {
  it('names the requester, the record, the fields and the time, and neither it nor Temporal contains a personal value', async () => {
    const path = cardPath();
    const personal = ['Apinya Wongsakul', 'Nakhon Si Thammarat', 'TH 80214'];
    const [name, city, postal_code] = personal;
    const { status, headers } = await asOperator(stack, 'PATCH', path, { body: { name, city, postal_code } });
    expect(status).toBe(200);
    const workflowId = `command/default/update_card/${seeded.customer}/${seeded.card}`;
    const handle = stack.temporal.client.workflow.getHandle(workflowId);
    const described = await handle.describe();
    expect(described.type).toBe(COMMAND_WORKFLOW);
    expect((described.memo as CommandMemo).audit).toMatchObject({
      kind: 'update_card',
      target: `${seeded.customer}/${seeded.card}`,
      fields: ['name', 'postal_code', 'city'],
      by: 'ops',
      request_id: headers.get('x-request-id'),
    });
    // A plain hash of few values could be guessed.
    const { fingerprint } = (described.memo as CommandMemo).audit;
    const { customer, card } = seeded;
    const order = { card, customer, kind: 'update_card', params: { city, name, postal_code } };
    expect(fingerprint).not.toBe(createHash('sha256').update(JSON.stringify(order)).digest('hex'));
    const history = await handle.fetchHistory();
    const everything = JSON.stringify([described.raw, history], (_, value: unknown) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value,
    );
    expect(everything.includes('update_card')).toBe(true);
    // Nor is anything only encoded.
    const encoded = everything.match(/[A-Za-z0-9+/]{16,}={0,2}/g) ?? [];
    const decoded = encoded.map((text) => Buffer.from(text, 'base64').toString('latin1'));
    expect(encoded.length).toBeGreaterThan(0);
    expect(personal.filter((value) => [everything, ...decoded].some((text) => text.includes(value)))).toEqual([]);
    const logs = stack.logs.join('');
    expect(logs.includes('"fields":["name","postal_code","city"]')).toBe(true);
    expect(personal.filter((value) => logs.includes(value))).toEqual([]);
  });
});

describe('a command', () => {
  it('is pending while no worker runs, and is carried out when one starts', async () => {
    await withStack({ webhookUrl: null, api: { ...SETTLES_SOON, ANSWER_WITHIN_MS: '500' } }, async (idle, start) => {
      const { customer, card } = seedRecords(idle);
      const path = `/v1/customers/${customer}/cards/${card}`;
      const pending = await asOperator(idle, 'PATCH', path, { body: { city: 'Ranong' } });
      expect(pending.status).toBe(202);
      await start();
      const city = async () => (await asOperator<CardJson>(idle, 'GET', path)).body.city;
      await expect.poll(city).toBe('Ranong');
    });
  });

  it('is carried out after a 202, although the provider first answers 429', async () => {
    await withStack({ webhookUrl: null, api: { ...SETTLES_SOON, ANSWER_WITHIN_MS: '500' } }, async (idle, start) => {
      const { customer, card } = seedRecords(idle);
      const path = `/v1/customers/${customer}/cards/${card}`;
      expect((await asOperator(idle, 'PATCH', path, { body: { city: 'Ranong' } })).status).toBe(202);
      idle.sandbox.faults.add({ method: 'PATCH', path: CARD_ROUTE, action: 'status', status: 429, times: 6 });
      await start();
      const city = async () => (await asOperator<CardJson>(idle, 'GET', path)).body.city;
      await expect.poll(city).toBe('Ranong');
      expect(idle.requests(`PATCH ${CARD_ROUTE}`).length).toBe(7);
    });
  });

  it.each([
    ['takes no requests', { action: 'status', status: 429 }, 503, 'provider_busy'],
    ['does not take the key', { action: 'status', status: 401 }, 502, 'provider_key_refused'],
    ['refuses it', { action: 'status', status: 400, code: 'bad_request' }, 422, 'provider_refused'],
  ])('gets the matching error when the provider %s', async (_, how, status, code) => {
    const path = cardPath();
    fault('PATCH', CARD_ROUTE, { ...how, times: undefined });
    const answer = await asOperator<ProblemJson>(stack, 'PATCH', path, { body: { city: 'Ranong' } });
    stack.sandbox.faults.clear();
    expect(answer).toMatchObject({ status, body: { code } });
    const { body } = await asOperator<CardJson>(stack, 'GET', path);
    expect(body.city).toBe('Bangkok');
  });

  it('gets provider_unavailable when the provider cannot be reached, and so does a read', async () => {
    const nowhere = { PROVIDER_BASE_URL: 'http://127.0.0.1:1' };
    const lost = await Stack.start({ webhookUrl: null, shared: nowhere, api: SETTLES_SOON });
    try {
      const path = '/v1/customers/cust_test_1/cards/card_test_1';
      for (const [method, body] of [
        ['PATCH', { city: 'A' }],
        ['DELETE', undefined],
        ['GET', undefined],
      ] as const) {
        const answer = await asOperator<ProblemJson>(lost, method, path, { body });
        expect(answer).toMatchObject({ status: 502, body: { code: 'provider_unavailable' } });
      }
    } finally {
      await lost.stop();
    }
  });

  it('is refused with 503 while Temporal is down, and the provider is not called', async () => {
    const shared = { TEMPORAL_ADDRESS: '127.0.0.1:1' };
    const down = await Stack.start({ webhookUrl: null, worker: false, shared, api: { ANSWER_WITHIN_MS: '500' } });
    try {
      const answer = await asOperator<ProblemJson>(down, 'PATCH', '/v1/account', { body: { chain_enabled: true } });
      expect(answer).toMatchObject({ status: 503, body: { code: 'temporal_unavailable' } });
      expect(answer.headers.get('retry-after')).toMatch(/^[1-4]$/);
      expect(down.sandbox.state(['requests']).requests).toEqual([]);
      expect((await asOperator(down, 'GET', '/v1/account')).status).toBe(200);
    } finally {
      await down.stop();
    }
  });

  it('fails with command_unreadable when the worker has another provider key, and nothing is changed', async () => {
    const other = await Stack.start({
      webhookUrl: null,
      api: { ...SETTLES_SOON, PROVIDER_SECRET_KEY: 'skey_test_other' },
    });
    try {
      const answer = await asOperator<ProblemJson>(other, 'PATCH', '/v1/account', { body: { chain_enabled: true } });
      expect(answer).toMatchObject({ status: 500, body: { code: 'command_unreadable' } });
      expect(other.requests('PATCH /account')).toEqual([]);
    } finally {
      await other.stop();
    }
  });
});

describe("a read of the provider's records", () => {
  it('is sent with the version in PROVIDER_API_VERSION', async () => {
    const old = await Stack.start({ webhookUrl: null, worker: false, api: { PROVIDER_API_VERSION: '1999-01-01' } });
    try {
      expect((await asOperator<ProblemJson>(old, 'GET', '/v1/account')).body.code).toBe('provider_refused');
    } finally {
      await old.stop();
    }
  });

  it.each([
    ['does not answer', { action: 'hang' }, 504, 'provider_timeout'],
    ['is broken', { action: 'status', status: 500 }, 502, 'provider_unavailable'],
    ['answers with no record', { action: 'garbage_body' }, 502, 'provider_unavailable'],
    ['takes no requests', { action: 'status', status: 429 }, 503, 'provider_busy'],
  ])('ends in time with the matching error when the provider %s', async (_, how, status, code) => {
    fault('GET', '/account', { ...how, times: undefined });
    const answer = await stack.withApi(IMPATIENT, () => asOperator<ProblemJson>(stack, 'GET', '/v1/account'));
    stack.sandbox.faults.clear();
    expect(answer).toMatchObject({ status, body: { code } });
  });
});
