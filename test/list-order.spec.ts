import { randomInt, randomUUID } from 'node:crypto';
import type { CheckoutStatus } from '@tillflow/domain';
import { checkoutStart } from '@tillflow/temporal';
import { AFTERCARE_WORKFLOW, CHECKOUT_WORKFLOW, initialState, type CheckoutMemo } from '@tillflow/workflows';
import { sampleIntent } from '@tillflow/workflows/testing';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Stack, type CheckoutJson } from './support/stack.js';

/** Days of this test alone: other tests use the same server. */
const ERA = Date.UTC(2003, randomInt(12), 1 + randomInt(28));
const DAY_MS = 86_400_000;

type Kind = 'creating' | 'open' | 'paid' | 'refunded' | 'in_grace' | 'closed' | 'reopened';
type Listed = Pick<CheckoutJson, 'id' | 'reference' | 'status' | 'created_at'>;
type Page = { data: Listed[]; next_cursor: string | null };

let stack: Stack;
let all: Listed[];
beforeAll(async () => {
  stack = await Stack.start({ webhookUrl: null, worker: false });
  all = await makeAll(kinds().map((kind, index) => ({ kind, at: times()[index] ?? ERA })));
});
afterAll(() => stack.stop());

const COUNTS: Readonly<Record<Kind, number>> = {
  creating: 12,
  open: 50,
  paid: 60,
  refunded: 30,
  in_grace: 30,
  closed: 40,
  reopened: 8,
};

function kinds(): Kind[] {
  return Object.entries(COUNTS).flatMap(([kind, count]) => Array.from({ length: count }, () => kind as Kind));
}

/** Out of order: spread over ninety days, many in one minute, several in one second and one millisecond. */
const drawn: number[] = [];
function times(): readonly number[] {
  if (drawn.length > 0) return drawn;
  for (let index = 0; index < 320; index += 1) {
    if (index % 4 === 0) drawn.push(ERA + 20 * DAY_MS + randomInt(60_000));
    else if (index % 9 === 0) drawn.push(ERA + 40 * DAY_MS + 100 * randomInt(10) + (index % 2 === 0 ? 20 : 0));
    else drawn.push(ERA + randomInt(90 * DAY_MS));
  }
  return drawn;
}

const STATUS: Readonly<Record<Kind, CheckoutStatus>> = {
  creating: 'creating',
  open: 'awaiting_payment',
  paid: 'paid',
  refunded: 'refunded',
  in_grace: 'expired',
  closed: 'expired',
  reopened: 'partially_refunded',
};

/** Runs as the engine keeps them, without a worker: the memo and the attributes are what a list shows. */
async function make(kind: Kind, at: number): Promise<Listed> {
  const reference = `order-${randomUUID()}`;
  const created_at = new Date(at).toISOString();
  const intent = sampleIntent({ reference, amount: 100_000, created_at });
  const start = (status: CheckoutStatus, type: string) => {
    const memo: CheckoutMemo = { intent, requestNonce: '', state: { ...initialState(intent), status } };
    return stack.temporal.client.workflow.start(type, {
      ...checkoutStart(memo, `unpolled-${stack.taskQueue}`),
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      args: [],
    });
  };
  const isPaidKind = kind === 'paid' || kind === 'refunded';
  const first = await start(
    kind === 'reopened' ? 'expired' : STATUS[kind],
    isPaidKind ? AFTERCARE_WORKFLOW : CHECKOUT_WORKFLOW,
  );
  if (kind === 'closed' || kind === 'reopened') await first.terminate();
  if (kind === 'reopened') await start(STATUS[kind], AFTERCARE_WORKFLOW);
  return { id: intent.id, reference, status: STATUS[kind], created_at };
}

async function makeAll(wanted: readonly { readonly kind: Kind; readonly at: number }[]): Promise<Listed[]> {
  const made: Listed[] = [];
  const left = [...wanted];
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (let next = left.pop(); next !== undefined; next = left.pop()) made.push(await make(next.kind, next.at));
    }),
  );
  // Visibility is a moment behind.
  await vi.waitFor(async () => expect(await counted()).toBe(made.length), { timeout: 90_000, interval: 100 });
  return made;
}

async function counted(): Promise<number> {
  const query = `TaskQueue = 'unpolled-${stack.taskQueue}' AND ExecutionStatus != 'ContinuedAsNew'`;
  return (await stack.temporal.client.workflow.count(query)).count - COUNTS.reopened;
}

const OPEN = new Set(['creating', 'awaiting_payment']);

function inOrder(checkouts: readonly Listed[]): string[] {
  return checkouts
    .toSorted(
      (a, b) =>
        Number(OPEN.has(b.status)) - Number(OPEN.has(a.status)) ||
        Date.parse(b.created_at) - Date.parse(a.created_at) ||
        (a.id < b.id ? -1 : 1),
    )
    .map(({ id }) => id);
}

const BOUNDS = { from: new Date(ERA).toISOString(), to: new Date(ERA + 100 * DAY_MS).toISOString() };

async function walk(
  limit: number,
  filters: Readonly<Record<string, string>> = {},
  between: (page: number) => Promise<void> = () => Promise.resolve(),
): Promise<Listed[]> {
  const found: Listed[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < 500; page += 1) {
    const query = new URLSearchParams({
      ...BOUNDS,
      ...filters,
      limit: String(limit),
      ...(cursor === null ? {} : { cursor }),
    });
    const { status, body } = await stack.get<Page>(`/v1/checkouts?${query.toString()}`);
    expect(status).toBe(200);
    expect(body.data.length).toBeLessThanOrEqual(limit);
    found.push(...body.data);
    cursor = body.next_cursor;
    if (cursor === null) return found;
    await between(page);
  }
  throw new Error('The list does not end');
}

describe('the list of checkouts, read page by page,', () => {
  it.each([3, 7, 100])(
    'in pages of %i shows every checkout once, open ones first, the newest first in each part',
    async (limit) => {
      const found = await walk(limit);
      expect(found.map(({ id }) => id)).toEqual(inOrder(all));
    },
  );

  it.each(['awaiting_payment', 'creating', 'paid', 'expired', 'partially_refunded'])(
    'with the status %s shows exactly those checkouts in the same order, and no outdated run of a reopened one',
    async (status) => {
      const found = await walk(7, { status });
      expect(found.map(({ id }) => id)).toEqual(inOrder(all.filter((checkout) => checkout.status === status)));
    },
  );

  it('with from and to shows exactly the checkouts created from the first and before the second, to the millisecond', async () => {
    const [from = '', to = ''] = all
      .slice(11, 13)
      .map(({ created_at: at }) => at)
      .toSorted((a, b) => (a < b ? -1 : 1));
    const found = await walk(7, { from, to });
    const meant = all.filter(({ created_at: at }) => at >= from && at < to);
    expect(found.map(({ id }) => id)).toEqual(inOrder(meant));
  });

  it('skips and repeats no checkout while others are created and open ones end', async () => {
    const before = inOrder(all);
    const ended: Listed[] = [];
    const added: Listed[] = [];
    const found = await walk(7, {}, async (page) => {
      if (page % 5 !== 0) return;
      added.push(await make('open', ERA + 95 * DAY_MS + page), await make('paid', ERA + randomInt(90 * DAY_MS)));
      const open = all.find(({ status, id }) => status === 'awaiting_payment' && !ended.some((one) => one.id === id));
      if (open === undefined) return;
      ended.push(open);
      const workflowId = `checkout/default/${open.reference}`;
      await stack.temporal.client.workflow.getHandle(workflowId).terminate();
      await stack.temporal.client.workflow.start(CHECKOUT_WORKFLOW, {
        ...checkoutStart(await endedMemo(open), `unpolled-${stack.taskQueue}`),
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        args: [],
      });
    });
    const ids = found.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(before.filter((id) => !ids.includes(id))).toEqual([]);
    // A new open checkout belongs to the next list. It may still appear in this one, because the test makes up its
    // creation time.
    const isOld = ({ id }: Listed): boolean => !added.some((one) => one.id === id && OPEN.has(one.status));
    const open = found.filter(({ status }) => OPEN.has(status)).filter(isOld);
    const others = found.filter(({ status }) => !OPEN.has(status));
    expect(found.filter(isOld)).toEqual([...open, ...others]);
    for (const part of [open, others]) expect(part.map(({ id }) => id)).toEqual(inOrder(part));
    expect(added.length).toBeGreaterThan(0);
    expect(ended.length).toBeGreaterThan(3);
  });
});

async function endedMemo({ reference }: Listed): Promise<CheckoutMemo> {
  const { memo } = await stack.temporal.client.workflow.getHandle(`checkout/default/${reference}`).describe();
  const { intent, requestNonce } = memo as CheckoutMemo;
  return { intent, requestNonce, state: { ...initialState(intent), status: 'cancelled' } };
}

it('a cursor is refused by a list with other filters', async () => {
  const first = new URLSearchParams({ ...BOUNDS, limit: '3' });
  const { body } = await stack.get<Page>(`/v1/checkouts?${first.toString()}`);
  const other = new URLSearchParams({ from: BOUNDS.from, limit: '3', cursor: body.next_cursor ?? '' });
  expect((await stack.get(`/v1/checkouts?${other.toString()}`)).status).toBe(400);
});
