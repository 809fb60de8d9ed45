import { describe, expect, test } from 'vitest';
import { chargeOf, clientOf, provider, refundOf, refuse, reply, sourceOf } from '../../../test/provider.js';
import { listOf } from '../../../test/samples.js';
import { InvalidRequestError } from '../../errors.js';

describe('charges', () => {
  test('create sends every parameter that is set, dates as instants', async () => {
    const fake = await provider(reply(200, chargeOf({ metadata: { order: '7' } })));
    await clientOf(fake).charges.create({
      amount: 150_000,
      currency: 'THB',
      source: 'src_test_1',
      description: 'table 4 & 5',
      metadata: { order: 7 },
      expires_at: new Date('2025-06-09T10:00:00Z'),
      webhook_endpoints: ['https://till.test/a', 'https://till.test/b'],
    });
    expect([...new URLSearchParams(fake.seen[0]?.body)]).toEqual([
      ['amount', '150000'],
      ['currency', 'THB'],
      ['source', 'src_test_1'],
      ['description', 'table 4 & 5'],
      ['metadata[order]', '7'],
      ['expires_at', '2025-06-09T10:00:00.000Z'],
      ['webhook_endpoints[]', 'https://till.test/a'],
      ['webhook_endpoints[]', 'https://till.test/b'],
    ]);
  });

  test('createRefund sends the amount and whether to void', async () => {
    const fake = await provider(reply(200, refundOf()));
    await clientOf(fake).charges.createRefund('chrg_test_1', { amount: 5_000, void: true });
    expect(fake.seen[0]?.body).toBe('amount=5000&void=true');
  });

  test('retrieve returns the QR code at source.scannable_code.image.download_uri', async () => {
    const image = { object: 'document', id: 'docu_test_1', kind: 'qr', download_uri: 'https://provider.test/qr.svg' };
    const scannable_code = { object: 'barcode', type: 'qr', image, raw_data: '000201' };
    const fake = await provider(reply(200, chargeOf({ source: sourceOf({ scannable_code }) })));
    const charge = await clientOf(fake).charges.retrieve('chrg_test_1');
    expect(charge.source?.scannable_code?.image?.download_uri).toBe('https://provider.test/qr.svg');
  });

  test('retrieve returns the refunds in a charge, typed', async () => {
    const fake = await provider(reply(200, chargeOf({ refunds: listOf(refundOf()) })));
    const charge = await clientOf(fake).charges.retrieve('chrg_test_1');
    expect(charge.refunds?.data[0]?.amount).toBe(5_000);
  });

  test('expire of a charge that is no longer pending is rejected', async () => {
    const fake = await provider(refuse(400, 'failed_expire'));
    const call = clientOf(fake).charges.expire('chrg_test_1');
    await expect(call).rejects.toBeInstanceOf(InvalidRequestError);
    await expect(call).rejects.toMatchObject({ code: 'failed_expire', outcome: 'rejected' });
  });
});
