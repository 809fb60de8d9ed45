import { PaymentsClient } from '@tillflow/payments-client';
import { createSandbox, type Sandbox, type Seeded } from '@tillflow/sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENDPOINTS } from '../apps/sandbox/test/conformance/endpoints.js';
import { type Json, type Kind, mistakesIn } from '../apps/sandbox/test/conformance/kinds.js';
import { METHOD_NAMES, type MethodName, METHODS } from '../packages/payments-client/test/methods.js';
import { PNG } from '../packages/payments-client/test/samples.js';

/**
 * The client against the sandbox, which shares no code with it. What comes out of every method is held against the
 * sandbox's transcription of the API reference.
 */

const MONEY = { amount: 150_000, currency: 'THB' } as const;
/** Later than the clock of either side. */
const ALL = { to: '2999-01-01T00:00:00Z' };
const DAY_S = 86_400;

let sandbox: Sandbox;
let client: PaymentsClient;
let seeded: Seeded;
/** Records that no test changes. */
let made: { source: string; charge: string; event: string; transaction: string; schedule: string; document: string };

const customer = (): string => seeded.customers[0] ?? '';
const card = (): string => seeded.cards[0] ?? '';
const dispute = (): string => seeded.disputes[0] ?? '';
const receipt = (): string => seeded.receipts[0] ?? '';

beforeAll(async () => {
  sandbox = createSandbox();
  const { url } = await sandbox.listen();
  client = new PaymentsClient({ baseUrl: url, secretKey: sandbox.keys.secret, publicKey: sandbox.keys.public });
  seeded = sandbox.seedRecords({
    customers: [{ cards: [{ last_digits: '4242' }] }],
    disputes: [{ status: 'open' }],
    receipts: [{ charge_fee: 2_475, vat: 173, adjustment: 60 }],
  });
  await client.schedules.create(monthly());
  const daily = await client.schedules.create({ every: 1, period: 'day', end_date: inDays(30), charge: rent() });
  sandbox.advance(3 * DAY_S);
  await client.schedules.create({ ...weekly(), transfer: { recipient: 'recp_test_1', amount: 100 } });

  const source = await client.sources.create({ ...MONEY, type: 'wallet_mpm' });
  const charge = await client.charges.create({ ...MONEY, source: source.id });
  await client.charges.markAsPaid(charge.id);
  await client.charges.createRefund(charge.id, { amount: 5_000 });
  const [event] = (await client.charges.listEvents(charge.id)).data;
  const [transaction] = (await client.transactions.list()).data;
  const document = await client.disputes.createDocument(dispute(), { file: PNG, filename: 'receipt.png' });
  made = {
    source: source.id,
    charge: charge.id,
    event: event?.id ?? '',
    transaction: transaction?.id ?? '',
    schedule: daily.id,
    document: document.id,
  };
});

afterAll(async () => {
  await client.close();
  await sandbox.close();
});

function inDays(days: number): string {
  return new Date(Date.parse(sandbox.now()) + days * DAY_S * 1_000).toISOString().slice(0, 10);
}

function rent() {
  return { ...MONEY, customer: customer(), card: card(), description: 'Rent', metadata: { flat: '7' } };
}

function monthly() {
  return {
    every: 1,
    period: 'month',
    on: { days_of_month: [28, 1] },
    start_date: inDays(1),
    end_date: inDays(400),
    charge: rent(),
  };
}

function weekly() {
  return { every: 2, period: 'week', on: { weekdays: ['monday', 'friday'] }, end_date: inDays(90) };
}

const pending = async (): Promise<string> =>
  (await client.charges.create({ ...MONEY, source: { type: 'wallet_mpm' } })).id;

const paid = async (): Promise<string> => {
  const id = await pending();
  await client.charges.markAsPaid(id);
  return id;
};

const ROUND_TRIPS: Readonly<Record<MethodName, () => Promise<unknown>>> = {
  'sources.create': () =>
    client.sources.create(
      {
        ...MONEY,
        type: 'wallet_mpm',
        barcode: '8850000000012',
        email: 'till@example.com',
        bank: 'wallet',
        ip: '203.0.113.7',
        name: 'Till & 7 = สยาม',
        mobile_number: '+66800000000',
        platform_type: 'WEB',
        store_id: 'store-1',
        store_name: 'Central',
        terminal_id: 'till-7',
        promotion_code: 'TEA',
        supplier_id: 'supplier-1',
        installment_term: 3,
        zero_interest_installments: true,
        billing: { city: 'Bangkok', country: 'TH', postal_code: '10330', state: 'Bangkok', street1: '1', street2: '2' },
        shipping: { city: 'Bangkok', country: 'TH', postal_code: '10330', state: 'Bangkok', street1: '1', street2: '' },
        qr_settings: { image_type: 'svg' },
        items: [{ name: 'Tea', amount: '1' }, { name: 'Cake' }],
      },
      { useKey: 'public' },
    ),
  'sources.retrieve': () => client.sources.retrieve(made.source),

  'charges.create': () =>
    client.charges.create({
      ...MONEY,
      source: { type: 'wallet_mpm', terminal_id: 'till-7' },
      description: 'Order 7 & more',
      metadata: { order: '7', empty: undefined },
      expires_at: new Date(Date.parse(sandbox.now()) + 3_600_000),
      return_uri: 'https://shop.example.com/done?a=1&b=2',
      webhook_endpoints: ['http://127.0.0.1:9/a', 'http://127.0.0.1:9/b'],
    }),
  'charges.retrieve': () => client.charges.retrieve(made.charge),
  'charges.expire': async () => client.charges.expire(await pending()),
  'charges.list': () => client.charges.list(),
  'charges.iterate': () => client.charges.iterate(ALL).toArray(),
  'charges.createRefund': async () =>
    client.charges.createRefund(await paid(), { amount: 5_000, metadata: { reason: 'returned' }, void: false }),
  'charges.listRefunds': () => client.charges.listRefunds(made.charge),
  'charges.iterateRefunds': () => client.charges.iterateRefunds(made.charge, ALL).toArray(),
  'charges.listEvents': () => client.charges.listEvents(made.charge),
  'charges.iterateEvents': () => client.charges.iterateEvents(made.charge, ALL).toArray(),
  'charges.markAsPaid': async () => client.charges.markAsPaid(await pending()),
  'charges.markAsFailed': async () => client.charges.markAsFailed(await pending()),

  'events.list': () => client.events.list(),
  'events.iterate': () => client.events.iterate(ALL).toArray(),
  'events.iterateTolerant': () => client.events.iterateTolerant(ALL).toArray(),
  'events.retrieve': () => client.events.retrieve(made.event),

  'transactions.list': () => client.transactions.list(),
  'transactions.iterate': () => client.transactions.iterate(ALL).toArray(),
  'transactions.retrieve': () => client.transactions.retrieve(made.transaction),

  'receipts.list': () => client.receipts.list(),
  'receipts.iterate': () => client.receipts.iterate(ALL).toArray(),
  'receipts.retrieve': () => client.receipts.retrieve(receipt()),
  'receipts.search': () => client.receipts.search({ scope: 'receipt', query: receipt(), page: 1 }),
  'receipts.iterateSearch': () => client.receipts.iterateSearch({ query: receipt() }).toArray(),

  'schedules.list': () => client.schedules.list(),
  'schedules.iterate': () => client.schedules.iterate(ALL).toArray(),
  'schedules.create': () => client.schedules.create(monthly()),
  'schedules.retrieve': () => client.schedules.retrieve(made.schedule),
  'schedules.destroy': async () =>
    client.schedules.destroy(
      (await client.schedules.create({ ...weekly(), transfer: { percentage_of_balance: 12.5, currency: 'THB' } })).id,
    ),
  'schedules.listOccurrences': () => client.schedules.listOccurrences(made.schedule),
  'schedules.iterateOccurrences': () => client.schedules.iterateOccurrences(made.schedule, ALL).toArray(),
  'chargeSchedules.list': () => client.chargeSchedules.list(),
  'chargeSchedules.iterate': () => client.chargeSchedules.iterate(ALL).toArray(),
  'chargeSchedules.search': () =>
    client.chargeSchedules.search({
      scope: 'charge_schedule',
      query: 'rent',
      filters: { status: 'active', active: true, amount: MONEY.amount, card_last_digits: '4242' },
      order: 'reverse_chronological',
    }),
  'chargeSchedules.iterateSearch': () => client.chargeSchedules.iterateSearch({ filters: { active: true } }).toArray(),
  'transferSchedules.list': () => client.transferSchedules.list(),
  'transferSchedules.iterate': () => client.transferSchedules.iterate(ALL).toArray(),

  'account.retrieve': () => client.account.retrieve(),
  'account.update': () =>
    client.account.update({
      chain_enabled: true,
      zero_interest_installments: true,
      chain_return_uri: 'https://shop.example.com/chained',
      metadata_export_keys: { charge: ['order'] },
    }),
  'account.updateApiVersion': () => client.account.updateApiVersion(),
  'account.listApiVersions': () => client.account.listApiVersions(),

  'disputes.retrieve': () => client.disputes.retrieve(dispute()),
  'disputes.listDocuments': () => client.disputes.listDocuments(dispute()),
  'disputes.iterateDocuments': () => client.disputes.iterateDocuments(dispute(), ALL).toArray(),
  'disputes.retrieveDocument': () => client.disputes.retrieveDocument(dispute(), made.document),
  'disputes.createDocument': () =>
    client.disputes.createDocument(dispute(), {
      file: new Blob([PNG]),
      filename: 'a "b" ใบเสร็จ.png',
      kind: 'receipt ✓',
    }),
  'disputes.destroyDocument': async () => {
    const { id } = await client.disputes.createDocument(dispute(), { file: PNG });
    return client.disputes.destroyDocument(dispute(), id);
  },

  'customers.retrieve': () => client.customers.retrieve(customer()),
  'customers.listCards': () => client.customers.listCards(customer()),
  'customers.iterateCards': () => client.customers.iterateCards(customer(), ALL).toArray(),
  'customers.retrieveCard': () => client.customers.retrieveCard(customer(), card()),
  'customers.updateCard': () =>
    client.customers.updateCard(customer(), card(), {
      name: 'สมชาย ประเสริฐ',
      expiration_month: 1,
      expiration_year: 2098,
      postal_code: '10110',
      city: null,
    }),
  'customers.destroyCard': () => {
    const [spare = ''] = sandbox.seedRecords({ cards: [{ customer: customer() }] }).cards;
    return client.customers.destroyCard(customer(), spare);
  },
};

/** The checks that the sandbox's own suite makes on a reply of that endpoint, or on each record of it. */
function kindOf(name: MethodName): Kind {
  const { endpoint } = METHODS[name];
  const answers = ENDPOINTS.find(({ method, path }) => `${method} ${path}` === endpoint)?.answers;
  const data = answers?.fields?.['data'];
  const kind = name.includes('.iterate') ? data : answers;
  if (kind === undefined) throw new Error(`the conformance suite knows no ${endpoint}`);
  return kind;
}

describe('the client gets a documented reply from the sandbox', () => {
  it.each(METHOD_NAMES)('when it calls %s', async (name) => {
    const given = (await ROUND_TRIPS[name]()) as Json;
    expect(mistakesIn(given, kindOf(name), name)).toEqual([]);
    // An empty page would show nothing.
    const records = typeof given === 'object' && given !== null && 'data' in given ? given.data : given;
    expect(records).not.toEqual([]);
  });
});

describe('the sandbox receives and returns', () => {
  it('every parameter of a source', async () => {
    expect(await ROUND_TRIPS['sources.create']()).toMatchObject({
      name: 'Till & 7 = สยาม',
      installment_term: 3,
      zero_interest_installments: true,
      billing: { city: 'Bangkok', postal_code: '10330' },
      qr_settings: { image_type: 'svg' },
      items: [{ name: 'Tea', amount: '1' }, { name: 'Cake' }],
    });
  });

  it('a charge with the parameters of its source and its expires_at', async () => {
    const charge = await client.charges.create({
      ...MONEY,
      source: { type: 'wallet_mpm', terminal_id: 'till-7' },
      expires_at: new Date('2998-01-01T00:00:00Z'),
      metadata: { 'a&b=c': '✓', order: 7 },
    });
    expect(charge).toMatchObject({
      metadata: { 'a&b=c': '✓', order: '7' },
      source: { terminal_id: 'till-7', charge_status: 'pending' },
    });
    expect(Date.parse(charge.expires_at ?? '')).toBe(Date.UTC(2998, 0, 1));
  });

  it('the days of a schedule, with a Date sent as its UTC day', async () => {
    const end = new Date(`${inDays(300)}T23:59:59Z`);
    const created = await client.schedules.create({ ...monthly(), end_date: end });
    expect(created).toMatchObject({ end_on: inDays(300), on: { days_of_month: [28, 1] } });
    expect(created.charge).toMatchObject({ ...MONEY, customer: customer(), card: card(), metadata: { flat: '7' } });
  });

  it('a null parameter as a field without a value', async () => {
    const rule = { every: 1, on: null, start_date: null, end_date: inDays(30) };
    const charge = { ...MONEY, customer: customer(), card: null, description: null, metadata: null };
    const daily = await client.schedules.create({ ...rule, period: 'day', charge, transfer: null });
    expect(daily).toMatchObject({ start_on: inDays(0), charge: { ...MONEY, description: null, metadata: {} } });
    const nothing = { description: null, metadata: null, expires_at: null, return_uri: null, webhook_endpoints: null };
    const source = { type: 'wallet_mpm', store_id: null, billing: null, items: null, installment_term: null };
    expect(await client.charges.create({ ...MONEY, source, ...nothing })).toMatchObject({
      description: null,
      metadata: {},
      source: { store_id: null, items: [] },
    });
    const part = { amount: 5_000, metadata: null, void: null };
    expect(await client.charges.createRefund(await paid(), part)).toMatchObject({ amount: 5_000, voided: false });
    const { data } = await client.charges.list({ from: null, to: null, order: null, limit: 1 });
    expect(data).toHaveLength(1);
  });

  it('a changed card, and a card field that null clears', async () => {
    await client.customers.updateCard(customer(), card(), { name: 'สมชาย', city: 'Bangkok' });
    expect(await client.customers.retrieveCard(customer(), card())).toMatchObject({ name: 'สมชาย', city: 'Bangkok' });
    await client.customers.updateCard(customer(), card(), { city: null });
    expect(await client.customers.retrieveCard(customer(), card())).toMatchObject({ name: 'สมชาย', city: null });
  });

  it('addresses and keys of the account that are set and cleared', async () => {
    const { account } = client;
    await account.update({
      webhook_uri: 'http://127.0.0.1:9/hook',
      metadata_export_keys: { charge: ['order', 'till'] },
    });
    expect(await account.retrieve()).toMatchObject({
      webhook_uri: 'http://127.0.0.1:9/hook',
      metadata_export_keys: { charge: ['order', 'till'] },
    });
    await account.update({ webhook_uri: null, metadata_export_keys: null });
    expect(await account.retrieve()).toMatchObject({ webhook_uri: null, metadata_export_keys: {} });
  });

  it.each(['receipt.png', 'a "b" c.png', 'a\r\nb: c.png', 'ใบเสร็จ ✓.png', '%22.png'])(
    'a document with the name %j, with all of its bytes',
    async (filename) => {
      const sent = await client.disputes.createDocument(dispute(), {
        file: PNG,
        filename,
        kind: 'proof; of "delivery"',
      });
      expect(sent.kind).toBe('proof; of "delivery"');
      expect(sent.filename).toMatch(/\.png$/);
      const stored = await fetch(sent.download_uri ?? '');
      expect(Buffer.from(await stored.arrayBuffer()).equals(PNG)).toBe(true);
    },
  );

  it('a document of 10 MB', async () => {
    const file = Buffer.alloc(10 * 1024 * 1024);
    PNG.copy(file);
    const { download_uri } = await client.disputes.createDocument(dispute(), { file, filename: 'large.png' });
    const stored = await fetch(download_uri ?? '');
    expect(Buffer.from(await stored.arrayBuffer()).equals(file)).toBe(true);
  });
});

describe('lists that grow while they are read', () => {
  it('give every charge that was there, each once, in either order', async () => {
    const before = new Set<string>();
    for (let i = 0; i < 130; i += 1) before.add(await pending());
    for (const order of ['chronological', 'reverse_chronological'] as const) {
      const seen: string[] = [];
      for await (const { id } of client.charges.iterate({ ...ALL, order })) {
        seen.push(id);
        if (seen.length % 40 === 0) await pending();
      }
      expect(new Set(seen).size).toBe(seen.length);
      expect(new Set(seen)).toEqual(new Set([...seen, ...before]));
    }
  });
});
