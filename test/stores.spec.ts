import type { Refund } from '@tillflow/workflows';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EventReader } from './support/event-reader.js';
import { eventually } from './support/eventually.js';
import { withHeldAnswer } from './support/held-answer.js';
import {
  chargeIdOf,
  IMPATIENT,
  KEYS,
  newReference,
  Stack,
  type CheckoutJson,
  type ProblemJson,
} from './support/stack.js';
import { operatorOf, tillflow } from './support/tillflow.js';

const STORE = { id: 'silom', name: 'Silom Road' };
/** Nothing about a till's name is safe in a search. */
const TILL = `Kasse 7's \\ "left" %_' OR 1=1`;

let stack: Stack;
beforeAll(async () => {
  stack = await Stack.start();
});
afterAll(() => stack.stop());

type Page = { data: CheckoutJson[]; next_cursor: string | null };

const list = async (filters: Readonly<Record<string, string>>): Promise<CheckoutJson[]> =>
  (await stack.get<Page>(`/v1/checkouts?${new URLSearchParams(filters).toString()}`)).body.data;

const detailsOf = async (id: string): Promise<string> => {
  const metadata = await stack.workflowOf(id).query<{ currentDetails?: string }>('__temporal_workflow_metadata');
  return metadata.currentDetails ?? '';
};

describe('a checkout of a store and a till', () => {
  it('has both in every answer, at the provider, in its stream, in the Temporal UI and on the command line', async () => {
    const { body } = await stack.begin({ store: STORE, terminal: TILL });
    const place = { store: STORE, terminal: TILL };
    expect(body).toMatchObject(place);
    expect((await stack.get(`/v1/checkouts/${body.id}`)).body).toMatchObject(place);
    const [charge] = stack.chargesOf(body.id);
    const { source } = charge ?? {};
    expect(source).toMatchObject({ store_id: STORE.id, store_name: STORE.name, terminal_id: TILL });
    const stream = `${stack.api.url}/v1/checkouts/${body.id}/events`;
    const reader = await EventReader.open(stream, { authorization: `Bearer ${KEYS.checkout}` });
    expect((await reader.until(() => true)).checkout).toMatchObject(place);
    reader.leave();
    expect(await detailsOf(body.id)).toContain(`- Store \`silom\` (Silom Road)\n- Terminal \`${TILL}\`\n`);
    const { out } = await tillflow(['show', body.reference], operatorOf(stack));
    expect(out).toContain('silom, Silom Road');
    expect(out).toContain(TILL);
  });

  it('is found by its store and by its till, in the API, on the command line and in a search', async () => {
    const [store, terminal] = [`shop-${newReference()}`, `${TILL} ${newReference().slice(-12)}`];
    const { body: here } = await stack.begin({ store: { id: store }, terminal });
    const { body: other } = await stack.begin({ store: { id: store }, terminal: 'another' });
    const ids = (found: readonly CheckoutJson[]): string[] => found.map(({ id }) => id);
    await eventually(async () => {
      expect(ids(await list({ store })).toSorted()).toEqual([here.id, other.id].toSorted());
      expect(ids(await list({ terminal }))).toEqual([here.id]);
      expect(ids(await list({ store, terminal }))).toEqual([here.id]);
    });
    expect(here.store).toEqual({ id: store, name: null });
    expect(await list({ store: 'no-such-shop' })).toEqual([]);
    const { out } = await tillflow(['list', '--store', store, '--terminal', terminal, '--json'], operatorOf(stack));
    expect(ids((JSON.parse(out) as Page).data)).toEqual([here.id]);
    const query = `Store = '${store}' AND Terminal = 'another'`;
    const found: string[] = [];
    for await (const { workflowId } of stack.temporal.client.workflow.list({ query })) found.push(workflowId);
    expect(found).toEqual([`checkout/default/${other.reference}`]);
  });

  it('without a store or a till shows null', async () => {
    const { body } = await stack.begin();
    expect(body).toMatchObject({ store: null, terminal: null });
  });

  it.each([
    ['a store of 65 characters', { store: { id: 's'.repeat(65) } }],
    ['an empty store', { store: {} }],
    ['a store as a text', { store: 'silom' }],
    ['an unknown field of a store', { store: { id: 'silom', city: 'Bangkok' } }],
    ['a name of 101 characters', { store: { id: 'silom', name: 'n'.repeat(101) } }],
    ['a name with a line break', { store: { id: 'silom', name: 'a\nb' } }],
    ['an empty name', { store: { id: 'silom', name: '' } }],
  ])('with %s is refused, and nothing is called', async (_name, fields) => {
    const calls = stack.sandbox.state().requests.length;
    const answer = await stack.post<ProblemJson>('/v1/checkouts', {
      reference: newReference(),
      amount: 150_000,
      currency: 'THB',
      ...fields,
    });
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    expect(answer.body.errors?.[0]?.path).toMatch(/^store/);
    expect(stack.sandbox.state().requests).toHaveLength(calls);
  });

  it.each(['store=a%20b', 'terminal=', `terminal=${'t'.repeat(65)}`, 'stores=silom'])(
    'a list with %s is refused',
    async (query) => {
      expect(await stack.get<ProblemJson>(`/v1/checkouts?${query}`)).toMatchObject({ status: 400 });
    },
  );
});

describe('a till that lost power', () => {
  /** The one request of a till that starts again and knows only its own name. */
  const newest = (terminal: string): Promise<CheckoutJson[]> => list({ terminal, limit: '1' });

  /** A search shows a change a moment after it. */
  const seen = (terminal: string, expected: object): Promise<CheckoutJson> =>
    eventually(async () => {
      const [checkout] = await newest(terminal);
      expect(checkout).toMatchObject(expected);
      // The line above ensures that there is one.
      return checkout as CheckoutJson;
    });

  it('finds its checkout with one request, whenever the power went', async () => {
    const terminal = newReference();
    // Before the POST.
    expect(await newest(terminal)).toEqual([]);

    // During the POST: the till gets no answer, and no worker knows whether the provider has made the source.
    const reference = newReference();
    await stack.stopWorker();
    await withHeldAnswer(stack, { method: 'POST', route: '/sources' }, async (held) => {
      const answer = await stack.withApi(IMPATIENT, () => stack.create({ reference, terminal }));
      expect(answer.status).toBe(202);
      await held.arrived;
      await seen(terminal, { reference, status: 'creating', qr: null });
      held.release();
    });
    await stack.startWorker();

    // After the POST, while the QR code is shown.
    const open = await stack.until(`chk_default_${reference}`, ({ qr }) => qr !== null);
    await seen(terminal, { id: open.id, status: 'awaiting_payment', qr: { raw_data: open.qr?.raw_data } });

    // The customer confirms: the provider refuses to expire the charge, and the checkout stays open.
    stack.sandbox.mark(chargeIdOf(open), { status: 'confirming' });
    await seen(terminal, { id: open.id, status: 'awaiting_payment' });

    stack.sandbox.mark(chargeIdOf(open), { status: 'successful' });
    await seen(terminal, { id: open.id, status: 'paid', refunded_amount: 0 });

    // A refund was requested, and its answer never reached the till.
    const refunds = async (): Promise<Refund[]> =>
      (await stack.get<{ data: Refund[] }>(`/v1/checkouts/${open.id}/refunds`)).body.data;
    await stack.stopWorker();
    await withHeldAnswer(stack, { method: 'POST', route: '/charges/{id}/refunds' }, async (held) => {
      const asked = stack.request<Refund>('POST', `/v1/checkouts/${open.id}/refunds`, {
        body: { amount: 50_000 },
        headers: { 'idempotency-key': 'return-1' },
      });
      await held.arrived;
      expect(await refunds()).toMatchObject([{ key: 'return-1', status: 'pending', amount: 50_000 }]);
      held.release();
      await asked;
    });
    await stack.startWorker();

    // The refund was answered.
    await eventually(async () => expect(await refunds()).toMatchObject([{ key: 'return-1', status: 'succeeded' }]));
    await seen(terminal, { id: open.id, status: 'partially_refunded', refunded_amount: 50_000 });
  });
});
