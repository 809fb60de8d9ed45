import { afterAll, beforeAll, expect, it } from 'vitest';
import { refund } from '@tillflow/workflows';
import { chargeIdOf, Stack, type CheckoutJson } from './support/stack.js';

let stack: Stack;
let paid: CheckoutJson;
let refunded: CheckoutJson;
let open: CheckoutJson;
beforeAll(async () => {
  stack = await Stack.start();
  open = (await stack.create()).body;
  const body = await stack.open({ terminal: 'till-9' });
  stack.sandbox.mark(chargeIdOf(body), { status: 'successful' });
  paid = await stack.untilStatus(body.id, 'paid');
  refunded = (await stack.create()).body;
  stack.sandbox.mark(chargeIdOf(refunded), { status: 'successful' });
  await stack.untilStatus(refunded.id, 'paid');
  await handleOf(refunded).executeUpdate(refund, { args: [{ key: 'k', amount: 50_000, reason: null }] });
});
afterAll(() => stack.stop());

const handleOf = (checkout: CheckoutJson) =>
  stack.temporal.client.workflow.getHandle(`checkout/default/${checkout.reference}`);

it('every activity and every timer carries a summary that a person can read', async () => {
  const events = (await stack.runsOf(refunded.reference)).flat();
  const described = events.filter(
    (event) =>
      event.activityTaskScheduledEventAttributes ??
      event.markerRecordedEventAttributes ??
      event.timerStartedEventAttributes,
  );
  expect(described.length).toBeGreaterThanOrEqual(7);
  const summaries = described.map(({ userMetadata }) => Buffer.from(userMetadata?.summary?.data ?? []).toString());
  expect(summaries).not.toContain('');
  expect(summaries).toContain('"Create a source of THB 1,500.00"');
  expect(summaries).toContain(`"Refund THB 500.00 of ${chargeIdOf(refunded)}"`);
  expect(summaries.some((summary) => summary.includes('continue as aftercare'))).toBe(true);
});

it('the details of an open checkout say the amount in major units, the state, the ids and what comes next', async () => {
  const metadata = await handleOf(open).query<{ currentDetails?: string }>('__temporal_workflow_metadata');
  const details = metadata.currentDetails ?? '';
  expect(details).toContain('THB 1,500.00');
  expect(details).toContain('awaiting_payment');
  expect(details).toContain(chargeIdOf(open));
  expect(details).toContain(`expire at ${open.attempts[0]?.expires_at}`);
});

it('the details of a paid one show the refunded amount, and until when a void and a refund are possible', async () => {
  const metadata = await handleOf(refunded).query<{ currentDetails?: string }>('__temporal_workflow_metadata');
  const details = metadata.currentDetails ?? '';
  expect(details).toContain('partially_refunded');
  expect(details).toContain('Refunded: THB 500.00');
  const { body } = await stack.get(`/v1/checkouts/${refunded.id}`);
  expect(details).toContain(`refund until ${body.refundable_until}`);
});

it('a checkout has a summary, and its details show the same text with the status', async () => {
  const { staticSummary } = (await handleOf(open).describe()) as unknown as { staticSummary: () => Promise<string> };
  expect(await staticSummary()).toBe(`THB 1,500.00 for ${open.reference}`);
  const metadata = await handleOf(paid).query<{ currentDetails?: string }>('__temporal_workflow_metadata');
  expect(metadata.currentDetails).toContain(`**THB 1,500.00** for \`${paid.reference}\`: **paid**`);
  expect(metadata.currentDetails).toContain('- Requested by checkout\n');
});

it('checkouts can be searched by status, reference, amount, currency, terminal, charge and time of payment', async () => {
  const found = async (query: string): Promise<string[]> => {
    const ids: string[] = [];
    for await (const { workflowId } of stack.temporal.client.workflow.list({ query })) ids.push(workflowId);
    return ids;
  };
  const id = `checkout/default/${paid.reference}`;
  for (const clause of [
    `CheckoutStatus = 'paid'`,
    `Amount = 150000`,
    `Currency = 'THB'`,
    `Terminal = 'till-9'`,
    `ChargeId = '${chargeIdOf(paid)}'`,
    around('PaidAt', paid.paid_at),
    around('CreatedAt', paid.created_at),
  ]) {
    await expect
      .poll(() => found(`ExecutionStatus = 'Running' AND CheckoutReference = '${paid.reference}' AND ${clause}`), {
        timeout: 90_000,
        message: clause,
      })
      .toEqual([id]);
  }
});

it('the view can be queried by its name', async () => {
  const { checkout, timeline } = await handleOf(open).query<{ checkout: CheckoutJson; timeline: { what: string }[] }>(
    'view',
  );
  expect(checkout).toMatchObject({ id: open.id, status: 'awaiting_payment' });
  expect(timeline.map(({ what }) => what)).toEqual(['opened', 'source_created', 'charge_created']);
});

it('a cancellation from the Temporal UI cancels the checkout as the API does: its charge is expired', async () => {
  const { body } = await stack.create();
  await handleOf(body).cancel();
  await stack.untilStatus(body.id, 'cancelled');
  expect(stack.chargesOf(body.id)).toMatchObject([{ status: 'expired' }]);
});

/** The development server's store compares times as texts, in which 0.12 s and 0.120 s differ. */
function around(attribute: string, time: string | null): string {
  const shifted = (by: number): string => new Date(Date.parse(time ?? '') + by).toISOString();
  return `${attribute} BETWEEN '${shifted(-2)}' AND '${shifted(2)}'`;
}
