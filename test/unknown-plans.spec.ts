import { createHash, randomUUID } from 'node:crypto';
import { run } from '@tillflow/cli';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { FULL } from './support/full.js';
import { chargePlanOf, loseCreate, plansOf, transferPlanOf, withLateFirst } from './support/plans.js';
import { asOperator, seedRecords } from './support/resources.js';
import { SETTLES_SOON, Stack, type Answer } from './support/stack.js';
import { type Tampering, withTampered } from './support/tampered-provider.js';
import { operatorOf } from './support/tillflow.js';

type PlanJson = { id: string | null; status: string; detail: string };
type PlanBody = ReturnType<typeof chargePlanOf> | ReturnType<typeof transferPlanOf>;

const FAST = {
  webhookUrl: null,
  api: {
    ...SETTLES_SOON,
    SECOND_LOOK_MS: '1000',
    ANSWER_WITHIN_MS: '8000',
  },
};

let stack: Stack;
let customer: string;
beforeAll(async () => {
  stack = await Stack.start(FAST);
  ({ customer } = seedRecords(stack));
});
afterEach(() => stack.sandbox.faults.clear());
afterAll(() => stack.stop());

const create = (body: object, key: string = randomUUID(), at = stack): Promise<Answer<PlanJson>> =>
  asOperator(at, 'POST', '/v1/recurring-plans', { body, headers: { 'idempotency-key': key } });

/** Repeats the request under its key until the API answers as wanted: a busy machine answers 202 or 503 before. */
async function becomes(
  wanted: object,
  body: object,
  key: string = randomUUID(),
  at = stack,
): Promise<Answer<PlanJson>> {
  let last: Answer<PlanJson> | undefined;
  const answer = async () => (last = await create(body, key, at));
  await expect.poll(answer).toMatchObject(wanted);
  return last ?? answer();
}
/** The plan is there, whether the first request or a repetition of it learned of it. */
const ACTIVE = { status: expect.toSatisfy((status: number) => [200, 201].includes(status)) as number };
/** The answer of a request whose plan a person has to decide: it names these plans. */
const undecidedAmong = (...ids: readonly (string | undefined)[]) => ({
  status: 202,
  body: {
    id: null,
    status: 'pending',
    detail: expect.toSatisfy((detail: string) => ids.every((id) => id !== undefined && detail.includes(id))) as string,
  },
});

const made = () => plansOf(stack);
const creates = (at = stack) => at.requests('POST /schedules').length;
let amount = 500_000;
/** One of a kind. */
const transferPlan = () => transferPlanOf(stack, (amount += 1));
const chargePlan = () => chargePlanOf(stack, customer);
/** The machine's name for the plan of a key. */
const requestOf = (key: string): string => createHash('sha256').update(key).digest('hex').slice(0, 32);

/** The provider makes the same plan for another system while the create is under way. */
function madeByAnother(form: Readonly<Record<string, string>>): Promise<Response> {
  return new Promise((resolve, reject) => {
    const off = stack.sandbox.on('request', ({ method, route }) => {
      if (method !== 'POST' || route !== '/schedules') return;
      off();
      const headers = { authorization: `Basic ${btoa(`${stack.sandbox.keys.secret}:`)}` };
      const body = new URLSearchParams(form);
      Promise.resolve()
        .then(() => fetch(`${stack.sandboxUrl}/schedules`, { method: 'POST', headers, body }))
        .then(resolve, reject);
    });
  });
}

const isPlan = (record: Readonly<Record<string, unknown>>): boolean => record['object'] === 'schedule';

describe('a plan that differs from the request when the provider creates it', () => {
  it('is created once, and its id is shown to an operator', async () => {
    const rounded: Tampering = (record) =>
      isPlan(record) ? { ...record, transfer: { percentage_of_balance: 33 } } : record;
    await withTampered(FAST, rounded, async (own) => {
      const body = { ...transferPlanOf(own, 1), transfer: { percentage_of_balance: 33.3333 } };
      const key = randomUUID();
      await create(body, key, own);
      expect(plansOf(own).length).toBe(1);
      await becomes(undecidedAmong(plansOf(own)[0]?.id), body, key, own);
      expect(plansOf(own).length).toBe(1);
    });
  });

  it('is accepted when only its metadata is missing', async () => {
    const forgetful: Tampering = (record) =>
      isPlan(record) ? { ...record, charge: { ...(record['charge'] as object), metadata: {} } } : record;
    await withTampered(FAST, forgetful, async (own) => {
      const answer = await create(chargePlanOf(own, seedRecords(own).customer), randomUUID(), own);
      expect(answer).toMatchObject({ status: 201, body: { status: 'active' } });
      expect(plansOf(own).map(({ id }) => id)).toEqual([answer.body.id]);
    });
  });
});

it('Tillflow requests a transfer plan at most three times when the provider never answers and never shows the plan', async () => {
  const hidden: Tampering = (record) => (isPlan(record) ? null : record);
  await withTampered(FAST, hidden, async (own) => {
    own.sandbox.faults.add({ method: 'POST', path: '/schedules', action: 'status', status: 500 });
    const key = randomUUID();
    const body = transferPlanOf(own, 1);
    const words = async () => (await create(body, key, own)).body.detail;
    await expect.poll(words).toContain('answered none of 3 requests');
    expect((await create(body, key, own)).status).toBe(202);
    expect(creates(own)).toBe(3);
  });
});

it.each(['charge', 'transfer'])(
  'Tillflow finds a plan of a %s whose answer was lost at a provider whose clock is weeks behind',
  async (kind) => {
    const behind = await Stack.start({
      ...FAST,
      sandbox: { now: new Date(Date.now() - 40 * 86_400_000).toISOString() },
    });
    try {
      loseCreate(behind, 'commit_then_reset');
      const body = kind === 'charge' ? chargePlanOf(behind, seedRecords(behind).customer) : transferPlanOf(behind, 1);
      const answer = await becomes(ACTIVE, body, randomUUID(), behind);
      expect(plansOf(behind).map(({ id }) => id)).toEqual([answer.body.id]);
    } finally {
      await behind.stop();
    }
  },
);

/** The next create takes effect, its answer is lost, and then no lookup is answered. @returns ends this for later creates */
function hideNextPlan(list: '/charges/schedules' | '/transfers/schedules'): () => void {
  loseCreate(stack, 'commit_then_reset');
  return stack.sandbox.on('committed', ({ method, route }) => {
    if (method !== 'POST' || route !== '/schedules') return;
    stack.sandbox.faults.add({ method: 'GET', path: list, action: 'status', status: 500 });
  });
}

it('a plan is found by its key after its first command was terminated before it could report', async () => {
  const key = randomUUID();
  const body = chargePlan();
  const before = made().length;
  const off = hideNextPlan('/charges/schedules');
  expect((await create(body, key)).status).toBe(202);
  off();
  await stack.temporal.client.workflow.getHandle(`command/default/create_plan/${requestOf(key)}`).terminate();
  stack.sandbox.faults.clear();
  const again = await becomes(ACTIVE, body, key);
  expect(again.body.id).toBe(made().at(-1)?.id);
  expect(made().length).toBe(before + 1);
});

it(
  'a plan of transfers is not created while an equal one stays unknown, and its key creates it afterwards',
  FULL,
  async () => {
    const [body, first, second] = [transferPlan(), randomUUID(), randomUUID()];
    const before = made().length;
    const off = hideNextPlan('/transfers/schedules');
    expect((await create(body, first)).status).toBe(202);
    off();
    await becomes({ status: 502, body: { detail: expect.stringContaining('An equal plan is still') } }, body, second);
    expect(made().length).toBe(before + 1);
    stack.sandbox.faults.clear();
    await becomes(ACTIVE, body, first);
    await becomes(ACTIVE, body, second);
    expect(made().length).toBe(before + 2);
  },
);

it('a surplus plan that cannot be stopped is shown to a person', async () => {
  const before = made().length;
  stack.sandbox.faults.add({ method: 'DELETE', path: '/schedules/{id}', action: 'status', status: 400 });
  const key = randomUUID();
  const body = chargePlan();
  await withLateFirst(stack, body, () => create(body, key));
  const plans = made().slice(before);
  expect(plans.length).toBe(2);
  await becomes(undecidedAmong(...plans.map(({ id }) => id)), body, key);
});

it('a plan counts as ended when the answer to the first stop was lost and the provider refuses the second stop', async () => {
  const { body } = await create(chargePlan());
  const path = '/schedules/{id}';
  stack.sandbox.faults.add({ method: 'DELETE', path, action: 'commit_then_status', status: 502, times: 4 });
  stack.sandbox.faults.add({ method: 'DELETE', path, action: 'status', status: 400 });
  const stopped = await asOperator<PlanJson>(stack, 'DELETE', `/v1/recurring-plans/${body.id}`);
  expect(stopped).toMatchObject({ status: 200, body: { id: body.id, status: 'deleted' } });
});

it('a request without a key gets 504 and creates no second plan when the provider does not show the first one', async () => {
  const body = { ...chargePlan(), charge: { ...chargePlan().charge, description: randomUUID() } };
  const post = () => asOperator<PlanJson>(stack, 'POST', '/v1/recurring-plans', { body });
  const { body: first } = await post();
  const before = creates();
  stack.sandbox.faults.add({ method: 'GET', path: '/schedules/{id}', action: 'status', status: 404 });
  const answer: unknown = await post();
  expect(answer).toMatchObject({ status: 504, body: { code: 'outcome_unknown' } });
  expect(answer).toMatchObject({ body: { detail: expect.stringContaining(String(first.id)) } });
  expect(creates()).toBe(before);
});

it.each([
  [401, 502, 'provider_key_refused'],
  [429, 503, 'provider_busy'],
  [500, 502, 'provider_unavailable'],
])(
  'a plan whose first lookup is answered with %i is not requested: %i %s',
  async (status, answered, code) => {
    stack.sandbox.faults.add({ method: 'GET', path: '/charges/schedules', action: 'status', status });
    const before = creates();
    expect(await create(chargePlan())).toMatchObject({ status: answered, body: { code } });
    expect(creates()).toBe(before);
  },
  60_000,
);

it('two equal transfer plans that are requested at the same time are two plans, also when a request is lost', async () => {
  const body = transferPlan();
  const before = made().length;
  loseCreate(stack, 'reset_before');
  const keys = [randomUUID(), randomUUID()];
  const ids = async () => {
    const answers = await Promise.all(keys.map((key) => create(body, key)));
    // A busy machine answers 202 without a plan, or 503.
    return new Set(answers.map((answer) => answer.body.id).filter((id) => typeof id === 'string')).size;
  };
  await expect.poll(ids).toBe(2);
  expect(made().length).toBe(before + 2);
});

it("another system's plan without a key is not mistaken for the plan whose request was lost", async () => {
  const before = made().length;
  loseCreate(stack, 'reset_before');
  const { end_date, charge } = chargePlan();
  const other = madeByAnother({
    every: '1',
    period: 'day',
    end_date,
    'charge[customer]': charge.customer,
    'charge[amount]': String(charge.amount),
    'charge[currency]': charge.currency,
  });
  const [body, key] = [chargePlan(), randomUUID()];
  await create(body, key);
  expect((await other).status).toBe(200);
  const plans = made().slice(before);
  expect(plans.length).toBe(1);
  await becomes(undecidedAmong(plans[0]?.id), body, key);
  expect(made().length).toBe(before + 1);
});

describe('a plan that cannot be distinguished from another', () => {
  /** Two plans are there, under a key that is undecided. */
  async function undecided() {
    const key = randomUUID();
    const body = transferPlan();
    const before = made().length;
    await withLateFirst(stack, body, (asked: PlanBody) => create(asked, key));
    const [first, second] = made().slice(before);
    await becomes(undecidedAmong(first?.id, second?.id), body, key);
    return { key, body, request: requestOf(key), first: first?.id ?? '', second: second?.id ?? '' };
  }

  const plans = async (...args: readonly string[]) => {
    const { exit, out } = await run(['plans', ...args, '--json'], operatorOf(stack));
    return { exit, json: JSON.parse(out) as unknown };
  };
  const resolve = (request: string, ...how: readonly string[]) =>
    plans('--resolve', request, ...how, '--reason', 'seen at the dashboard');

  it('is listed with its candidates, and becomes the candidate that an operator adopts', async () => {
    const { key, body, request, first, second } = await undecided();
    const candidates: unknown = expect.toSatisfy((ids: string[]) => ids.includes(first) && ids.includes(second));
    const one = { id: request, by: 'ops', undecided: expect.objectContaining({ code: 'ambiguous', candidates }) };
    await expect
      .poll(async () => (await plans()).json)
      .toMatchObject({ data: expect.arrayContaining([expect.objectContaining(one)]) });
    expect(await resolve(request, '--adopt', 'schd_test_none')).toMatchObject({
      exit: 1,
      json: { outcome: 'refused' },
    });
    const dryRun = () => resolve(request, '--adopt', second, '--dry-run');
    expect(await dryRun()).toMatchObject({ exit: 0, json: { dry_run: true, id: request } });
    expect(await resolve(request, '--adopt', second)).toMatchObject({ exit: 0, json: { outcome: 'adopted' } });
    expect(await create(body, key)).toMatchObject({ status: 200, body: { id: second } });
    expect(await resolve(request, '--look')).toMatchObject({ exit: 1, json: { outcome: 'closed' } });
    await expect.poll(dryRun).toMatchObject({ exit: 1, json: { outcome: 'closed' } });
  });

  it('becomes the remaining candidate when an operator ends the other one and resolves with --look', async () => {
    const { key, body, request, first, second } = await undecided();
    expect(await resolve(request, '--look')).toMatchObject({ exit: 1, json: { outcome: 'undecided' } });
    expect((await asOperator(stack, 'DELETE', `/v1/recurring-plans/${first}`)).status).toBe(200);
    expect(await resolve(request, '--look')).toMatchObject({ exit: 0, json: { outcome: 'adopted' } });
    expect(await create(body, key)).toMatchObject({ status: 200, body: { id: second } });
  });

  it('can be requested again under its key after an operator has abandoned it', async () => {
    const { key, body, request, first, second } = await undecided();
    for (const id of [first, second]) await asOperator(stack, 'DELETE', `/v1/recurring-plans/${id}`);
    expect(await resolve(request, '--abandon')).toMatchObject({ exit: 0, json: { outcome: 'abandoned' } });
    const anew = await create(body, key);
    expect(anew.status).toBe(201);
    expect([first, second]).not.toContain(anew.body.id);
  });
});
