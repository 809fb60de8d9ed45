import type { JsonObject } from './kinds.js';
import { expect, expectRefusal, type Row } from './row.js';
import { idIn, PNG, recordsIn, textIn, type Samples } from './samples.js';

const rule = (fact: string, shows: Row['shows']): Row => ({ fact, shows });

const MEGABYTES_10 = 10 * 1_024 * 1_024;
const JPEG = Buffer.from('ffd8ffe000104a46494600010100000100010000ffd9', 'hex');
const PDF = Buffer.from('%PDF-1.4\n%%EOF\n');

/** Bytes that start like a PNG. */
const pngOf = (bytes: number): Buffer => Buffer.concat([PNG, Buffer.alloc(bytes - PNG.length)]);

async function upload(samples: Samples, content: Buffer, filename: string, dispute?: string) {
  const multipart = new FormData();
  multipart.set('file', new Blob([new Uint8Array(content)]), filename);
  multipart.set('kind', 'receipt');
  const id = dispute ?? (await samples.id('open dispute'));
  return await samples.provider.call('POST', `/disputes/${id}/documents`, { multipart });
}

async function documents(samples: Samples, dispute: string): Promise<string[]> {
  const list = await samples.provider.record('GET', `/disputes/${dispute}/documents`, {
    query: { order: 'reverse_chronological', limit: 100 },
  });
  return recordsIn(list).map(idIn);
}

/** Source: API reference, "Dispute documents"; assumptions, "File upload", "Disputes". */
const DOCUMENT_ROWS: readonly Row[] = [
  ...(
    [
      ['PNG', PNG, 'receipt.png'],
      ['JPEG', JPEG, 'receipt.jpg'],
      ['PDF', PDF, 'receipt.pdf'],
    ] as const
  ).map(([type, content, filename]) =>
    rule(`a dispute accepts a ${type} by multipart and shows its name and kind`, async (samples) =>
      expect((await upload(samples, content, filename)).record).toMatchObject({
        object: 'document',
        filename,
        kind: 'receipt',
        deleted: false,
      }),
    ),
  ),
  ...(
    [
      ['a text', Buffer.from('hello'), 'receipt.txt'],
      ['a text that is named .png', Buffer.from('hello'), 'receipt.png'],
      ['a GIF', Buffer.from('GIF89a\u0001\u0000'), 'receipt.gif'],
      ['nothing', Buffer.alloc(0), 'receipt.png'],
    ] as const
  ).map(([what, content, filename]) =>
    rule(`a dispute refuses ${what} with 400 invalid_file_type`, async (samples) =>
      expectRefusal(await upload(samples, content, filename), 400, 'invalid_file_type'),
    ),
  ),
  rule('a dispute accepts a file of 10 MB', async (samples) =>
    expect((await upload(samples, pngOf(MEGABYTES_10), 'large.png')).status).toBe(200),
  ),
  rule('a dispute refuses a file above 10 MB with 400', async (samples) =>
    expectRefusal(await upload(samples, pngOf(MEGABYTES_10 + 1), 'larger.png'), 400, null),
  ),
  rule('a dispute also accepts the documented form', async (samples) => {
    const dispute = await samples.id('open dispute');
    const form = samples.documentForm();
    const document = await samples.provider.record('POST', `/disputes/${dispute}/documents`, { form });
    expect(await documents(samples, dispute)).toContain(idIn(document));
  }),
  rule('the download of a document equals the upload', async (samples) => {
    const response = await fetch(textIn(await samples.get('document'), 'download_uri'));
    expect(Buffer.from(await response.arrayBuffer()).equals(PNG)).toBe(true);
  }),
  rule('a deleted document has deleted = true, is no longer listed, and is 404', async (samples) => {
    const dispute = await samples.id('open dispute');
    const path = `/disputes/${dispute}/documents/${await samples.id('deleted document')}`;
    expect(await samples.get('deleted document')).toMatchObject({ deleted: true });
    expect(await documents(samples, dispute)).not.toContain(await samples.id('deleted document'));
    expectRefusal(await samples.provider.call('GET', path), 404, 'not_found');
    expectRefusal(await samples.provider.call('DELETE', path), 404, 'not_found');
  }),
  ...(['pending', 'won', 'lost'] as const).flatMap((status) => [
    rule(`a ${status} dispute refuses a new document: 400 documents_locked`, async (samples) => {
      const { dispute } = await samples.closedDispute(status);
      expectRefusal(await upload(samples, PNG, 'late.png', dispute), 400, 'documents_locked');
    }),
    rule(`a ${status} dispute refuses to delete a document: 400 documents_locked, and it stays`, async (samples) => {
      const { dispute, document } = await samples.closedDispute(status);
      const path = `/disputes/${dispute}/documents/${document}`;
      expectRefusal(await samples.provider.call('DELETE', path), 400, 'documents_locked');
      expect(await samples.provider.record('GET', path)).toMatchObject({ id: document, deleted: false });
    }),
  ]),
];

async function cardPath(samples: Samples, card: JsonObject): Promise<string> {
  return `/customers/${await samples.id('customer')}/cards/${idIn(card)}`;
}

/** Source: API reference, "Customer cards"; assumption, "Customers". */
const CARD_ROWS: readonly Row[] = [
  rule('a customer embeds its cards as a list with its own location', async (samples) => {
    const customer = await samples.provider.record('GET', `/customers/${await samples.id('customer')}`);
    const location = `/customers/${idIn(customer)}/cards`;
    const list = await samples.provider.record('GET', location);
    expect(customer['cards']).toMatchObject({ object: 'list', location, limit: 20, data: list['data'] });
  }),
  rule('the default card of a customer is one of its cards', async (samples) => {
    const { default_card: card } = await samples.get('customer');
    const list = await samples.provider.record('GET', `/customers/${await samples.id('customer')}/cards`);
    expect(recordsIn(list).map(({ id }) => id)).toContain(card);
  }),
  rule('PATCH of a card changes the given fields and keeps the others', async (samples) => {
    const card = await samples.spareCard();
    const path = await cardPath(samples, card);
    const form = { name: 'Nok', expiration_month: 2, expiration_year: 2088, postal_code: '50200', city: 'Chiang Mai' };
    const changed = await samples.provider.record('PATCH', path, { form });
    expect(changed).toEqual({ ...card, ...form });
    expect(await samples.provider.record('GET', path)).toEqual(changed);
    expect(await samples.provider.record('PATCH', path, { form: { city: 'Phuket' } })).toEqual({
      ...changed,
      city: 'Phuket',
    });
  }),
  rule('PATCH of a card sends the event card.update', async (samples) => {
    const card = await samples.spareCard();
    await samples.provider.record('PATCH', await cardPath(samples, card), { form: { city: 'Bangkok' } });
    await expectEvent(samples, 'card.update', idIn(card));
  }),
  rule('a deleted card has deleted = true, is no longer listed, and is 404', async (samples) => {
    const card = await samples.get('deleted card');
    const path = await cardPath(samples, card);
    expect(card).toMatchObject({ deleted: true });
    const list = await samples.provider.record('GET', `/customers/${await samples.id('customer')}/cards`);
    expect(recordsIn(list).map(({ id }) => id)).not.toContain(card['id']);
    expectRefusal(await samples.provider.call('GET', path), 404, 'not_found');
    expectRefusal(await samples.provider.call('PATCH', path, { form: { city: 'x' } }), 404, 'not_found');
  }),
  rule('DELETE of a card sends the event card.destroy', async (samples) => {
    const card = await samples.spareCard();
    await samples.provider.record('DELETE', await cardPath(samples, card));
    await expectEvent(samples, 'card.destroy', idIn(card));
  }),
];

export async function expectEvent(samples: Samples, key: string, id: string): Promise<void> {
  const list = await samples.provider.record('GET', '/events', {
    query: { order: 'reverse_chronological', limit: 100 },
  });
  const events = recordsIn(list).filter((event) => event['key'] === key && idOfData(event) === id);
  expect(events).not.toEqual([]);
}

function idOfData({ data }: JsonObject): unknown {
  return (data as JsonObject)['id'];
}

async function chargesBetween({ provider }: Samples, start: Date, end: Date): Promise<JsonObject[]> {
  const charges: JsonObject[] = [];
  for (;;) {
    const query = {
      from: start.toISOString(),
      to: new Date(end.getTime() - 1).toISOString(),
      limit: 100,
      offset: charges.length,
    };
    const page = recordsIn(await provider.record('GET', '/charges', { query }));
    if (page.length === 0) return charges;
    charges.push(...page);
  }
}

/** Source: API reference, "Receipt"; assumption, "Receipts". */
const RECEIPT_ROWS: readonly Row[] = [
  rule('the subtotal of a receipt is the sum of its fees, and its total adds VAT less WHT', async (samples) => {
    const receipt = await samples.get('receipt');
    const of = (field: string): number => Number(receipt[field]);
    expect(of('subtotal')).toBe(of('charge_fee') + of('transaction_fee') + of('transfer_fee') - of('voided_fee'));
    expect(of('total')).toBe(of('subtotal') + of('vat') - of('wht'));
  }),
  rule('a receipt sums the fees and the VAT of the payments of its month', async (samples) => {
    const { provider } = samples;
    const now = await provider.now();
    const [start, end] = [1, 2].map((months) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months)));
    if (start === undefined || end === undefined) return;
    await provider.standAt(new Date(start.getTime() + 3_600_000));
    await samples.newCharge('successful', { amount: 3_000, currency: 'THB', 'source[type]': 'wallet_mpm' });
    await samples.newCharge('successful');
    await provider.standAt(new Date(end.getTime() + 3_600_000));
    const charges = (await chargesBetween(samples, start, end)).filter(
      ({ paid, currency }) => paid === true && currency === 'THB',
    );
    const sum = (field: string): number => charges.reduce((total, charge) => total + Number(charge[field]), 0);
    const receipts = recordsIn(
      await provider.record('GET', '/receipts', { query: { from: end.toISOString(), limit: 100 } }),
    );
    expect(receipts.find(({ currency }) => currency === 'THB')).toMatchObject({
      charge_fee: sum('fee'),
      vat: sum('fee_vat'),
    });
    expect(charges.length).toBeGreaterThan(1);
  }),
];

export const RECORD_ROWS: readonly Row[] = [...DOCUMENT_ROWS, ...CARD_ROWS, ...RECEIPT_ROWS];
