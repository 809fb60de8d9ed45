import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Reconciliations } from './support/reconciliations.js';
import { chargeIdOf, SETTLES_SOON, type CheckoutJson, type Stack } from './support/stack.js';
import { type Tampering, withTampered } from './support/tampered-provider.js';

/** The product's times, shortened: what is proved here does not depend on them. */
const FAST = {
  webhookUrl: null,
  api: {
    ...SETTLES_SOON,
    POLL_INTERVAL_MS: '200',
    SECOND_LOOK_MS: '500',
    ANSWER_WITHIN_MS: '3000',
  },
};

const asIs: Tampering = (record) => record;

async function paid(stack: Stack, fields: Readonly<Record<string, unknown>> = {}): Promise<CheckoutJson> {
  const ready = await stack.open(fields);
  stack.sandbox.mark(chargeIdOf(ready), { status: 'successful' });
  return stack.untilStatus(ready.id, 'paid');
}

function requestRefund(stack: Stack, { id }: CheckoutJson, key: string, amount: number) {
  const headers = { 'idempotency-key': key };
  return stack.request<{ id: string | null; status: string }>('POST', `/v1/checkouts/${id}/refunds`, {
    body: { amount },
    headers,
  });
}

/** Makes the checkout retrieve its charge again, and waits for that. */
async function retrieveAgain(stack: Stack, { id }: CheckoutJson): Promise<void> {
  const before = stack.requests('GET /charges/{id}').length;
  await stack.workflowOf(id).signal('hint', { eventId: 'evnt_test', eventKey: 'refund.create' });
  await expect.poll(() => stack.requests('GET /charges/{id}').length).toBeGreaterThan(before + 1);
  await sleep(100);
}

describe('a provider that keeps no metadata on refunds', () => {
  const forgetful: Tampering = (record) => {
    if (record['object'] === 'refund') return { ...record, metadata: null };
    const refunds = record['refunds'] as { data: object[] } | undefined;
    if (refunds === undefined) return record;
    const data = refunds.data.map((one) => Object.assign(one, { metadata: {} }));
    return { ...record, refunds: { ...refunds, data } };
  };

  it("needs no other handling: the refund's id identifies the refund in later retrieves and in the reconciliation", () =>
    withTampered(FAST, forgetful, async (stack) => {
      const checkout = await paid(stack);
      for (const key of ['first', 'second']) {
        const answer = await requestRefund(stack, checkout, key, 50_000);
        expect(answer).toMatchObject({
          status: 201,
          body: { key, status: 'succeeded', id: expect.stringMatching(/^rfnd_/) },
        });
      }
      await retrieveAgain(stack, checkout);
      const { body } = await stack.get(`/v1/checkouts/${checkout.id}`);
      expect(body).toMatchObject({ status: 'partially_refunded', refunded_amount: 100_000, attention: null });
      const words = (await stack.timeline(checkout.id)).map(({ what }) => what);
      expect(words.filter((what) => what.startsWith('refund'))).toEqual([
        'refund_requested',
        'refunded',
        'refund_requested',
        'refunded',
      ]);
      expect(stack.requests('POST /charges/{id}/refunds')).toHaveLength(2);
      expect((await new Reconciliations(stack).run()).breaks).toEqual([]);
    }));

  it("gets no second refund request after a lost answer: a person decides which refund is Tillflow's", () =>
    withTampered(FAST, forgetful, async (stack) => {
      const checkout = await paid(stack);
      await requestRefund(stack, checkout, 'known', 50_000);
      const refunds = { method: 'POST', path: '/charges/{id}/refunds', action: 'commit_then_reset', times: 1 } as const;
      stack.sandbox.faults.add(refunds);
      expect(await requestRefund(stack, checkout, 'lost', 50_000)).toMatchObject({
        status: 202,
        body: { status: 'pending' },
      });
      const waiting = await stack.until(checkout.id, ({ attention }) => attention !== null);
      const unmatched = stack.sandbox.state().refunds.at(-1)?.id ?? '';
      expect(waiting.attention).toMatchObject({ code: 'refund_unmatched', detail: expect.stringContaining(unmatched) });
      await retrieveAgain(stack, checkout);
      expect(stack.requests('POST /charges/{id}/refunds')).toHaveLength(2);

      await stack
        .workflowOf(checkout.id)
        .executeUpdate('resolve', { args: [{ action: 'adopt', id: unmatched, reason: 'seen in the dashboard' }] });
      const settled = await stack.until(checkout.id, ({ attention }) => attention === null);
      expect(settled).toMatchObject({ status: 'partially_refunded', refunded_amount: 100_000 });
      expect(await requestRefund(stack, checkout, 'lost', 50_000)).toMatchObject({
        status: 200,
        body: { id: unmatched },
      });
      expect(stack.sandbox.state().refunds).toHaveLength(2);
    }));
});

describe('a provider that writes currencies in lower case', () => {
  const inLowerCase: Tampering = (record) =>
    JSON.parse(
      JSON.stringify(record, (name, value: unknown) =>
        name.endsWith('currency') && typeof value === 'string' ? value.toLowerCase() : value,
      ),
    ) as Record<string, unknown>;

  it('has its checkouts paid, refunded and reconciled without a break', () =>
    withTampered(FAST, inLowerCase, async (stack) => {
      const checkout = await paid(stack);
      expect(checkout).toMatchObject({ currency: 'THB', attention: null });
      expect(await requestRefund(stack, checkout, 'one', 50_000)).toMatchObject({
        status: 201,
        body: { status: 'succeeded' },
      });
      await retrieveAgain(stack, checkout);
      expect((await stack.get(`/v1/checkouts/${checkout.id}`)).body).toMatchObject({ attention: null });
      expect((await new Reconciliations(stack).run()).breaks).toEqual([]);
    }));

  it('has its source accepted for a checkout of the same amount and currency', () =>
    withTampered(FAST, inLowerCase, async (stack) => {
      const response = await fetch(`${stack.sandboxUrl}/sources`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${stack.sandbox.keys.public}:`)}` },
        body: new URLSearchParams({ amount: '150000', currency: 'THB', type: 'wallet_mpm' }),
      });
      const { id: source } = (await response.json()) as { id: string };
      expect((await paid(stack, { source })).attempts).toMatchObject([{ source_id: source, status: 'successful' }]);
    }));
});

describe('a provider that changes the metadata of a charge', () => {
  const rewriting: Tampering = (record) => {
    if (record['object'] !== 'charge') return record;
    const { note: _, ...kept } = record['metadata'] as Record<string, string>;
    return { ...record, metadata: { ...kept, attempt: Number(kept['attempt']), trace: 2 ** 60 } };
  };

  it('a charge with changed metadata is believed as long as the searched metadata is unchanged', () =>
    withTampered(FAST, rewriting, async (stack) => {
      const checkout = await paid(stack, { metadata: { note: 'two teas' } });
      expect(checkout.attention).toBeNull();
      expect((await stack.timeline(checkout.id)).map(({ what }) => what)).toEqual([
        'opened',
        'source_created',
        'charge_created',
        'paid',
      ]);
    }));
});

describe('a provider that answers a retrieve with another charge', () => {
  const ofAnother: Tampering = (record) =>
    record['object'] === 'charge' ? { ...record, id: 'chrg_test_of_another' } : record;

  it('a reply about another charge is not believed and raises an attention, and the next correct reply counts', () =>
    withTampered(FAST, asIs, async (stack, provider) => {
      const ready = await stack.open();
      provider.tamperAll(ofAnother);
      stack.sandbox.mark(chargeIdOf(ready), { status: 'successful' });
      const wary = await stack.until(ready.id, ({ attention }) => attention !== null);
      expect(wary).toMatchObject({
        status: 'awaiting_payment',
        attention: { code: 'integrity_mismatch', detail: expect.stringContaining('chrg_test_of_another') },
      });
      provider.tamperAll(asIs);
      const settled = await stack.untilStatus(ready.id, 'paid');
      expect(settled.attention).toBeNull();
    }));
});
