import type { Charge, PaymentsClient } from '@tillflow/payments-client';
import { describe, expect, it } from 'vitest';
import { findCharges, moreFacts } from './activities.js';

const CALL = {
  sourceId: 'src_1',
  checkoutId: 'chk_default_a',
  since: '2026-03-10T09:00:00.000Z',
  until: '2026-03-10T09:01:00.000Z',
};

const charge = (id: string, source: string, checkout?: string): Charge =>
  ({ id, source: { id: source }, metadata: checkout === undefined ? {} : { checkout } }) as unknown as Charge;

/** A provider that lists some charges in the time of the call, and others only among all. */
function search(isSourceUsed: boolean, inTime: readonly Charge[], among: readonly Charge[] = inTime) {
  const client = {
    sources: { retrieve: () => Promise.resolve({ charge_status: isSourceUsed ? 'pending' : 'unknown' }) },
    charges: {
      async *iterate({ from }: { readonly from?: string }) {
        yield* from === undefined ? among : inTime;
      },
    },
  } as unknown as PaymentsClient;
  return findCharges(client, CALL, () => ({}));
}

describe('a search for the charges of a checkout', () => {
  const own = charge('chrg_1', 'src_1', CALL.checkoutId);

  it('finds a charge by its metadata, and by its source when it has no metadata of a checkout', async () => {
    const bySource = charge('chrg_2', 'src_1');
    const byMetadata = charge('chrg_3', 'src_9', CALL.checkoutId);
    expect(await search(true, [own, bySource, byMetadata])).toEqual([own, bySource, byMetadata]);
  });

  it('leaves out a charge of another checkout, also on the same source', async () => {
    const others = [charge('chrg_2', 'src_1', 'chk_default_b'), charge('chrg_3', 'src_2', 'chk_default_b')];
    expect(await search(true, others)).toEqual([]);
  });

  it('finds nothing when the source is not used and no charge is listed', async () => {
    expect(await search(false, [])).toEqual([]);
  });

  it('searches the newest charges when the source is used and its charge is not listed in time', async () => {
    expect(await search(true, [], [charge('chrg_9', 'src_9', 'chk_default_b'), own])).toEqual([own]);
  });

  it('fails when the source is used and its charge is not listed at all: that proves nothing', async () => {
    await expect(search(true, [])).rejects.toMatchObject({ type: 'charge_not_listed', nonRetryable: false });
  });
});

describe('the facts of a charge', () => {
  it('have all refunds, also when the provider embeds none of them', async () => {
    const made = { id: 'rfnd_1', amount: 500, currency: 'THB', status: 'closed', voided: false, metadata: {} };
    const client = {
      charges: {
        async *iterateRefunds() {
          yield made;
        },
      },
    } as unknown as PaymentsClient;
    const refunded = { ...charge('chrg_1', 'src_1'), currency: 'THB', refunded_amount: 500, refunds: { data: [] } };
    const options = { deadlineMs: 1_000, timeoutMs: 1_000, signal: new AbortController().signal };
    const { refunds } = await moreFacts(client, refunded, undefined, { options });
    expect(refunds).toEqual([expect.objectContaining({ refundId: 'rfnd_1', amount: 500 })]);
  });
});
