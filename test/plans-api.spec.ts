import { createHash, randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { chargePlanOf, loseCreate, plansOf, transferPlanOf, withLateFirst } from './support/plans.js';
import { asOperator, seedRecords, type SeededRecords } from './support/resources.js';
import { SETTLES_SOON, Stack, type Answer, type ProblemJson } from './support/stack.js';

type PlanJson = {
  id: string | null;
  status: string;
  detail?: string;
  every: number;
  charge: { metadata: Record<string, string>; amount: number } | null;
  transfer: { amount: number | null } | null;
  occurrences: { data: { status: string; message: string | null; result: string | null; scheduled_on: string }[] };
};
type PlansJson = { data: PlanJson[]; next_cursor: string | null; total: number };

let stack: Stack;
let seeded: SeededRecords;
beforeAll(async () => {
  stack = await Stack.start({
    webhookUrl: null,
    api: {
      ...SETTLES_SOON,
      SECOND_LOOK_MS: '1000',
      ANSWER_WITHIN_MS: '8000',
    },
  });
  seeded = seedRecords(stack);
});
// A test that ends early leaves its fault to the next one, or to its own second try.
afterEach(() => stack.sandbox.faults.clear());
afterAll(() => stack.stop());

const chargePlan = (more: object = {}) => chargePlanOf(stack, seeded.customer, more);
const transferPlan = (amount: number) => transferPlanOf(stack, amount);

const create = <T = PlanJson>(body: object, key: string = randomUUID()): Promise<Answer<T>> =>
  asOperator<T>(stack, 'POST', '/v1/recurring-plans', { body, headers: { 'idempotency-key': key } });

const read = <T = PlanJson>(path: string) => asOperator<T>(stack, 'GET', `/v1/recurring-plans${path}`);

const made = () => plansOf(stack);
const creates = () => stack.requests('POST /schedules').length;
const lose = (action: 'reset_before' | 'commit_then_reset') => loseCreate(stack, action);

describe('a plan', () => {
  it("is created once for each key, and shown with the provider's values", async () => {
    const key = randomUUID();
    const body = chargePlan({ metadata: { member: '17' } });
    const before = made().length;
    const first = await create(body, key);
    expect(first).toMatchObject({ status: 201, body: { status: 'active', charge: { amount: 50_000 } } });
    expect(first.headers.get('location')).toBe(`/v1/recurring-plans/${first.body.id}`);
    const again = await create(body, key);
    expect(again).toMatchObject({ status: 200, body: { id: first.body.id } });
    expect(made().length).toBe(before + 1);
    const { body: shown } = await read(`/${first.body.id}`);
    expect(shown).toMatchObject({ id: first.body.id, every: 1, charge: { metadata: { member: '17' } } });
    expect(shown.occurrences.data.map(({ status }) => status)).toContain('scheduled');
  });

  it('is created once when several requests with its key arrive at the same time', async () => {
    const key = randomUUID();
    const body = chargePlan();
    const before = made().length;
    const answers = await Promise.all(Array.from({ length: 5 }, () => create(body, key)));
    expect(answers.filter(({ status }) => status === 201).length).toBe(1);
    expect(new Set(answers.map(({ body: { id } }) => id)).size).toBe(1);
    expect(made().length).toBe(before + 1);
  });

  it('without a key is created once while it runs, and can be created again after it has ended', async () => {
    const body = chargePlan({ metadata: { member: randomUUID() } });
    const before = made().length;
    const post = () => asOperator<PlanJson>(stack, 'POST', '/v1/recurring-plans', { body });
    const answers = await Promise.all([post(), post()]);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const [id] = new Set(answers.map((answer) => answer.body.id));
    expect(made().length).toBe(before + 1);
    expect((await asOperator(stack, 'DELETE', `/v1/recurring-plans/${id}`)).status).toBe(200);
    const next = await post();
    expect(next.status).toBe(201);
    expect(next.body.id).not.toBe(id);
    expect(await post()).toMatchObject({ status: 200, body: { id: next.body.id } });
    expect(made().length).toBe(before + 2);
  });

  it('with different content under the same key gets 409, and the order of its fields makes no difference', async () => {
    const key = randomUUID();
    const body = chargePlan();
    await create(body, key);
    const before = creates();
    const turned = Object.fromEntries(Object.entries(body).toReversed());
    expect((await create(turned, key)).status).toBe(200);
    expect(await create<ProblemJson>(chargePlan({ amount: 60_000 }), key)).toMatchObject({
      status: 409,
      body: { code: 'idempotency_conflict' },
    });
    expect(creates()).toBe(before);
  });

  it('a plan that the provider refuses is not created, and its key can be used for the corrected plan', async () => {
    const key = randomUUID();
    const before = made().length;
    const refused = await create<ProblemJson & { provider_code: string }>(
      { ...chargePlan(), charge: { ...chargePlan().charge, customer: 'cust_test_nobody' } },
      key,
    );
    expect(refused).toMatchObject({ status: 422, body: { code: 'provider_refused', provider_code: 'not_found' } });
    expect(made().length).toBe(before);
    expect((await create(chargePlan(), key)).status).toBe(201);
    expect(made().length).toBe(before + 1);
  });

  it('shows the result of each occurrence, and can be ended', async () => {
    stack.sandbox.setCard(seeded.card, 'insufficient_fund');
    const { body: plan } = await create(chargePlan({ card: seeded.card }));
    stack.sandbox.advance(86_400 + 60);
    const failed = await read(`/${plan.id}`);
    expect(failed.body.occurrences.data.map(({ status }) => status)).toContain('failed');
    stack.sandbox.setCard(seeded.card, null);
    stack.sandbox.advance(86_400 + 60);
    const { body } = await read(`/${plan.id}`);
    const paid = body.occurrences.data.filter(({ status }) => status === 'successful');
    expect(paid.length).toBeGreaterThan(0);
    expect(paid[0]?.result).toMatch(/^chrg_/);
    const days = body.occurrences.data.map(({ scheduled_on }) => scheduled_on);
    expect(days).toEqual(days.toSorted().toReversed());

    const page = await read<PlansJson>(`/${plan.id}/occurrences?limit=1`);
    expect(page.body.data.length).toBe(1);
    expect(page.body.next_cursor).not.toBeNull();

    const stopped = await asOperator<PlanJson>(stack, 'DELETE', `/v1/recurring-plans/${plan.id}`);
    expect(stopped).toMatchObject({ status: 200, body: { id: plan.id, status: 'deleted' } });
    const again = await asOperator<PlanJson>(stack, 'DELETE', `/v1/recurring-plans/${plan.id}`);
    expect(again).toMatchObject({ status: 200, body: { id: plan.id, status: 'deleted' } });
  });
});

describe.each([
  ['a charge', () => chargePlan()],
  ['a transfer', () => transferPlan(100_000 + Math.floor(Math.random() * 1e9))],
])('a plan of %s', (_, bodyOf) => {
  it('is found by a lookup when the answer was lost, and is not created again', async () => {
    const before = made().length;
    lose('commit_then_reset');
    const key = randomUUID();
    const body = bodyOf();
    const answer = await create(body, key);
    expect(answer.status).toBe(201);
    expect(
      made()
        .slice(before)
        .map(({ id }) => id),
    ).toEqual([answer.body.id]);
    expect((await create(body, key)).body.id).toBe(answer.body.id);
  });

  it('is created again only after the lookups when the request was lost, and exists once', async () => {
    const [before, asked] = [made().length, creates()];
    lose('reset_before');
    const answer = await create(bodyOf());
    expect(answer.status).toBe(201);
    expect(made().length).toBe(before + 1);
    expect(creates()).toBe(asked + 2);
  });
});

it('a plan of a charge exists once when the first request takes effect after the repeated one', async () => {
  const before = made().length;
  const answer = await withLateFirst(stack, chargePlan(), create);
  expect(answer.status).toBe(201);
  const plans = made().slice(before);
  expect(plans.length).toBe(2);
  expect(plans.filter(({ status }) => status !== 'deleted').map(({ id }) => id)).toEqual([answer.body.id]);
});

it('a plan of a transfer that exists twice after a lost request waits for a person to choose one', async () => {
  const before = made().length;
  const answer = await withLateFirst(stack, transferPlan(313_131), create);
  expect(answer).toMatchObject({ status: 202, body: { id: null, status: 'pending' } });
  const plans = made().slice(before);
  expect(plans.length).toBe(2);
  for (const { id } of plans) expect(answer.body.detail).toContain(id);
  // Another test moves the sandbox's clock ahead. On a day of the plan, its transfer fails and is `running`: tried again.
  expect(plans.filter(({ status }) => status !== 'active' && status !== 'running')).toEqual([]);
});

it('a plan with the right key and other content is not accepted, and not made again', async () => {
  const key = randomUUID();
  const wanted = chargePlan();
  const before = made().length;
  loseCreate(stack, 'reset_before');
  let other: Promise<Response> | undefined;
  const off = stack.sandbox.on('request', ({ method, route }) => {
    if (method !== 'POST' || route !== '/schedules' || other !== undefined) return;
    const body = new URLSearchParams({
      every: '1',
      period: 'day',
      end_date: wanted.end_date,
      'charge[customer]': seeded.customer,
      'charge[amount]': '60000',
      'charge[currency]': 'THB',
      'charge[metadata][plan]': createHash('sha256').update(key).digest('hex').slice(0, 32),
    });
    const headers = { authorization: `Basic ${btoa(`${stack.sandbox.keys.secret}:`)}` };
    other = Promise.resolve().then(() => fetch(`${stack.sandboxUrl}/schedules`, { method: 'POST', headers, body }));
  });
  const first = await create(wanted, key);
  expect(first.body.id ?? null).toBeNull();
  // On a busy machine, the API may answer before the worker sends the plan.
  await expect.poll(() => other).toBeDefined();
  off();
  expect((await other)?.status).toBe(200);
  const [accepted] = made().slice(before);
  await expect
    .poll(() => create(wanted, key))
    .toMatchObject({
      status: 202,
      body: { id: null, status: 'pending', detail: expect.stringContaining(`${accepted?.id}`) },
    });
  expect(made().length).toBe(before + 1);
});

it('two equal transfer plans with different keys are two plans, also when one request is lost', async () => {
  const body = transferPlan(777_777);
  const first = await create(body);
  const before = made().length;
  lose('reset_before');
  const second = await create(body);
  expect(second.status).toBe(201);
  expect(second.body.id).not.toBe(first.body.id);
  expect(made().length).toBe(before + 1);
});

it('a plan whose outcome stays unknown is pending, and the same key later answers with the outcome', async () => {
  const key = randomUUID();
  const body = chargePlan();
  const before = made().length;
  lose('commit_then_reset');
  // The lookup before the create must succeed: the fault begins with the create.
  const off = stack.sandbox.on('committed', ({ method, route }) => {
    if (method === 'POST' && route === '/schedules') {
      stack.sandbox.faults.add({ method: 'GET', path: '/charges/schedules', action: 'status', status: 500 });
    }
  });
  const pending = await create(body, key);
  off();
  expect(pending).toMatchObject({ status: 202, body: { id: null, status: 'pending' } });
  expect(made().length).toBe(before + 1);
  stack.sandbox.faults.clear();
  await expect.poll(async () => (await create(body, key)).status).toBe(200);
  expect(made().length).toBe(before + 1);
});

describe('the list of plans', () => {
  it('does not shift its pages when plans are created between them', async () => {
    const query = '?order=reverse_chronological&limit=2';
    for (let n = 0; n < 4; n += 1) await create(chargePlan());
    const known = made().map(({ id }) => id);
    const first = await read<PlansJson>(query);
    await create(chargePlan());
    const second = await read<PlansJson>(`${query}&cursor=${encodeURIComponent(first.body.next_cursor ?? '')}`);
    const shown = [...first.body.data, ...second.body.data].map(({ id }) => id);
    expect(shown).toEqual(known.toReversed().slice(0, 4));
  });

  it('can show both kinds, one kind, or a search result, page by page', async () => {
    const { body: charge } = await create(chargePlan({ description: 'Quarterly oolong-tea-club' }));
    const { body: transfer } = await create(transferPlan(424_242));
    const ids = async (query: string): Promise<(string | null)[]> => {
      const found: (string | null)[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const page: Answer<PlansJson> = await read<PlansJson>(
          `?${query}${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
        );
        expect(page.status).toBe(200);
        found.push(...page.body.data.map(({ id }) => id));
        cursor = page.body.next_cursor;
      }
      return found;
    };
    const all = made().map(({ id }) => id);
    expect(await ids('limit=2')).toEqual(all);
    expect(await ids('limit=3&order=reverse_chronological')).toEqual(all.toReversed());
    expect(await ids('kind=transfer')).toContain(transfer.id);
    expect(await ids('kind=transfer')).not.toContain(charge.id);
    expect(await ids('kind=charge')).not.toContain(transfer.id);
    expect(await ids('query=quarterly')).toEqual([charge.id]);
    // Longer than what may stand in an id by chance.
    expect(await ids('kind=charge&status=active&query=oolong-tea-club')).toEqual([charge.id]);
    expect(await ids('status=suspended&query=oolong-tea-club')).toEqual([]);
  });
});
