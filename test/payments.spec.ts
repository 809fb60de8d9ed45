import { toCheckout } from '@tillflow/workflows';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from './support/eventually.js';
import { FULL } from './support/full.js';
import { startDirectly } from './support/paths.js';
import { chargeIdOf, Stack, type CheckoutJson, type ProblemJson } from './support/stack.js';
import { TamperedProvider } from './support/tampered-provider.js';
import { operatorOf, tillflow } from './support/tillflow.js';

let stack: Stack;
beforeAll(async () => {
  stack = await Stack.start({ api: { STREAM_POLL_MS: '1000' } });
});
afterAll(() => stack.stop());

async function pay(fields: Readonly<Record<string, unknown>> = {}): Promise<CheckoutJson> {
  const { body } = await stack.begin(fields);
  const open = await stack.until(body.id, ({ qr }) => qr !== null, 60_000);
  stack.sandbox.mark(chargeIdOf(open), { status: 'successful' });
  return stack.untilStatus(body.id, 'paid', 60_000);
}

/** The only charge of a checkout, as the provider shows it. */
function chargeOf({ id }: Pick<CheckoutJson, 'id'>) {
  const [charge] = stack.chargesOf(id);
  if (charge === undefined) throw new Error('The checkout has no charge');
  return charge;
}

/** Every text in a history, payloads included. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (value instanceof Uint8Array) return [Buffer.from(value).toString('utf8')];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

const found = async (reference: string): Promise<string[]> => {
  const query = new URLSearchParams({ payment_reference: reference }).toString();
  const { body } = await stack.get<{ data: CheckoutJson[] }>(`/v1/checkouts?${query}`);
  return body.data.map(({ id }) => id);
};

describe('the payment of a checkout', () => {
  it('is known after one round trip: the worker reads the transaction that the webhook names beside the charge', async () => {
    const delay_ms = 1_000;
    const { body } = await stack.begin();
    const charge = chargeIdOf(await stack.until(body.id, ({ qr }) => qr !== null, 60_000));
    stack.sandbox.faults.add({ method: 'GET', path: `/charges/${charge}`, action: 'delay', delay_ms, times: 1 });
    stack.sandbox.mark(charge, { status: 'successful' });
    const { payment } = await stack.untilStatus(body.id, 'paid', 60_000);
    expect(payment?.transferable_at).not.toBeNull();
    const { requests = [], transactions = [] } = stack.sandbox.state(['requests', 'transactions']);
    const sentAt = (path: string): number => Date.parse(requests.find((one) => one.path === path)?.at ?? '');
    const transaction = transactions.find(({ origin }) => origin === charge)?.id ?? '';
    expect(sentAt(`/transactions/${transaction}`) - sentAt(`/charges/${charge}`)).toBeLessThan(delay_ms);
  });

  it('is null until it is paid, and then shows what the provider shows', async () => {
    const { body } = await stack.begin();
    expect(body.payment).toBeNull();
    const { id, payment, paid_at } = await pay();
    const charge = chargeOf({ id });
    const { source } = charge;
    const transaction = stack.sandbox.state().transactions.find(({ origin }) => origin === charge.id);
    expect(payment).toEqual({
      charge_id: charge.id,
      paid_at,
      amount: 150_000,
      currency: 'THB',
      customer_amount: source?.references?.customer_amount,
      customer_currency: 'CNY',
      customer_exchange_rate: source?.references?.customer_exchange_rate,
      receipt_amount: 150_000,
      discounts: [],
      fee: charge.fee,
      fee_vat: charge.fee_vat,
      net: charge.net,
      transferable_at: transaction?.transferable_at,
      references: {
        provider_1: source?.provider_references?.reference_number_1,
        provider_2: source?.provider_references?.reference_number_2,
        acquirer: charge.acquirer_reference_number,
        approval_code: charge.approval_code,
      },
    });
    expect(payment?.transferable_at).toMatch(/Z$/);
    expect(payment?.references.provider_1).toMatch(/^\d{16}$/);
  });

  it('survives a refund and continue-as-new, and keeps the fees of the payment', async () => {
    const { id, reference } = await startDirectly(stack, { maxHistoryEvents: 20 });
    const open = await stack.until(id, ({ qr }) => qr !== null);
    stack.sandbox.mark(chargeIdOf(open), { status: 'successful' });
    const { payment } = await stack.untilStatus(id, 'paid');
    const next = stack.untilNextRun(reference);
    await stack.request('POST', `/v1/checkouts/${id}/refunds`, {
      body: { amount: 50_000 },
      headers: { 'idempotency-key': 'return-1' },
    });
    await next;
    await stack.untilStatus(id, 'partially_refunded');
    await stack.refundElsewhere(chargeIdOf(open), 10_000);
    await stack.workflowOf(id).signal('hint', { eventId: 'test', eventKey: 'refund.create' });
    const refunded = await stack.until(id, ({ refunded_amount }) => refunded_amount === 60_000);
    expect(refunded.payment).toEqual(payment);
  });

  it('counts without the date of its payout when the provider does not say it, and shows it after a later lookup', async () => {
    stack.sandbox.faults.add({ method: 'GET', path: '/transactions/{id}', action: 'status', status: 500 });
    const paid = await pay();
    expect(paid.payment).toMatchObject({ charge_id: chargeIdOf(paid), transferable_at: null, fee: chargeOf(paid).fee });
    stack.sandbox.faults.clear();
    await stack.workflowOf(paid.id).signal('hint', { eventId: 'test', eventKey: 'refund.create' });
    const known = await stack.until(paid.id, ({ payment }) => payment?.transferable_at !== null);
    expect(known.payment).toEqual({ ...paid.payment, transferable_at: known.payment?.transferable_at });
    // Once the date is known, a lookup does not ask for it again.
    const requests = stack.requests('GET /transactions/{id}').length;
    const lookups = stack.requests('GET /charges/{id}').length;
    await stack.workflowOf(paid.id).signal('hint', { eventId: 'test', eventKey: 'refund.create' });
    await expect.poll(() => stack.requests('GET /charges/{id}').length).toBeGreaterThan(lookups);
    expect(stack.requests('GET /transactions/{id}')).toHaveLength(requests);
  });

  it('of a checkout that was paid before its details were stored shows null for them', async () => {
    const paid = await pay();
    const { intent, state, timeline = [] } = await stack.memoOf(paid.id);
    if (state === undefined) throw new Error('Not published');
    // As an earlier version published it.
    const { payment: _details, ...earlier } = state;
    expect(toCheckout(intent, earlier, timeline).payment).toMatchObject({
      charge_id: chargeIdOf(paid),
      amount: 150_000,
      fee: null,
      transferable_at: null,
      discounts: null,
    });
  });

  it('that came after the checkout was reported cancelled has no receipt', async () => {
    const { body } = await stack.begin();
    const open = await stack.until(body.id, ({ qr }) => qr !== null);
    await stack.post(`/v1/checkouts/${body.id}/cancel`);
    await stack.untilStatus(body.id, 'cancelled');
    stack.sandbox.faults.add({ method: 'POST', path: '/charges/{id}/refunds', action: 'status', status: 503 });
    stack.sandbox.mark(chargeIdOf(open), { status: 'successful', force: true });
    await stack.until(body.id, ({ paid_at }) => paid_at !== null);
    const path = `/v1/checkouts/${body.id}/receipt`;
    expect(await stack.get<ProblemJson>(path)).toMatchObject({ status: 409, body: { code: 'not_paid' } });
    stack.sandbox.faults.clear();
  });
});

describe('a reference on the slip of a customer', () => {
  it('finds the payment in the API and on the command line, whichever reference it is and however it is typed', async () => {
    const paid = await pay();
    const references = Object.values(paid.payment?.references ?? {}).map(String);
    expect(references).toHaveLength(4);
    for (const reference of references) {
      for (const typed of [reference, ` ${reference.toLowerCase().replace(/(...)/, '$1 ')}`]) {
        await eventually(async () => expect(await found(typed)).toEqual([paid.id]));
        const { code, out } = await tillflow(['show', typed], operatorOf(stack));
        expect(code).toBe(0);
        expect(out).toContain(paid.id);
      }
    }
    const { out } = await tillflow(['show', paid.reference], operatorOf(stack));
    for (const text of [...references, 'CNY 321.45', 'rate 0.2143', 'net', 'paid out from'])
      expect(out).toContain(text);
  });

  it('a reference that the provider gives after the payment finds it too', async () => {
    let provider: TamperedProvider | undefined;
    const late = await Stack.start({
      before: async (url) => (provider = await TamperedProvider.before(url)).url,
    });
    try {
      provider?.tamperAll((record) => ({ ...record, approval_code: null, acquirer_reference_number: null }));
      const { body } = await late.begin();
      const open = await late.until(body.id, ({ qr }) => qr !== null);
      late.sandbox.mark(chargeIdOf(open), { status: 'successful' });
      const paid = await late.untilStatus(body.id, 'paid');
      expect(paid.payment?.references).toMatchObject({ provider_1: expect.any(String), acquirer: null });
      provider?.tamperAll((record) => record);
      await late.workflowOf(body.id).signal('hint', { eventId: 'test', eventKey: 'refund.create' });
      const { payment } = await late.until(body.id, (known) => known.payment?.references.acquirer !== null);
      const query = new URLSearchParams({ payment_reference: payment?.references.acquirer ?? '' }).toString();
      await eventually(async () => {
        const { body: page } = await late.get<{ data: CheckoutJson[] }>(`/v1/checkouts?${query}`);
        expect(page.data.map(({ id }) => id)).toEqual([body.id]);
      });
    } finally {
      await late.stop();
      provider?.close();
    }
  });

  it('a reference that no payment has finds nothing', async () => {
    expect(await found('no such reference')).toEqual([]);
    expect((await tillflow(['show', 'no such reference'], operatorOf(stack))).code).toBe(2);
  });

  it.each(['', 'x'.repeat(65), 'a\u0000b'])('of the form %j is refused', async (reference) => {
    const query = new URLSearchParams({ payment_reference: reference }).toString();
    const answer = await stack.get<ProblemJson>(`/v1/checkouts?${query}`);
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
  });

  it('finds each of 1,000 payments', { ...FULL, timeout: 1_200_000 }, async () => {
    const paid: CheckoutJson[] = [];
    while (paid.length < 1_000) paid.push(...(await Promise.all(Array.from({ length: 10 }, () => pay()))));
    for (const { id, payment } of paid) {
      // A search shows a payment a moment after it.
      await eventually(async () => expect(await found(payment?.references.provider_1 ?? '')).toEqual([id]));
    }
  });
});

it('the name of the buyer is in no answer, log, memo, history or metric', async () => {
  const { id, reference } = await pay();
  const buyer = chargeOf({ id }).source?.provider_references?.buyer_name ?? '';
  expect(buyer).toMatch(/^Buyer /);
  const history = textsIn(await stack.workflowOf(id).fetchHistory()).join('\n');
  const places = {
    answers: JSON.stringify([
      (await stack.get(`/v1/checkouts/${id}`)).body,
      await stack.timeline(id),
      (await stack.get(`/v1/checkouts?reference=${reference}`)).body,
      await tillflow(['show', reference, '--json'], operatorOf(stack)),
    ]),
    history,
    results: (await stack.activityResultsOf(id)).join('\n'),
    memo: JSON.stringify(await stack.memoOf(id)),
    logs: stack.logs.join('\n'),
    metrics: JSON.stringify((await stack.get<string>('/metrics')).body),
  };
  expect(history).toContain(chargeOf({ id }).approval_code);
  expect(Object.entries(places).filter(([, text]) => text.includes(buyer) || text.includes('buyer_name'))).toEqual([]);
});
