import { isObject, type Json, type JsonObject } from './kinds.js';
import { NotShown, type Form, type ProviderUnderTest } from './provider.js';

export const PAYMENT = { amount: 150_000, currency: 'THB' } as const;
export const NEW_SOURCE = { ...PAYMENT, type: 'wallet_mpm' } as const;
export const NEW_CHARGE = { ...PAYMENT, 'source[type]': 'wallet_mpm' } as const;

/** Every input of POST /sources. Source: API reference, "POST /sources body". */
const FULL_SOURCE: Form = {
  ...NEW_SOURCE,
  zero_interest_installments: true,
  barcode: '8850000000012',
  email: 'till@example.com',
  bank: 'wallet',
  ip: '203.0.113.7',
  name: 'Till 7',
  mobile_number: '+66800000000',
  platform_type: 'WEB',
  store_id: 'store-1',
  store_name: 'Central',
  terminal_id: 'till-7',
  promotion_code: 'TEA',
  supplier_id: 'supplier-1',
  installment_term: 3,
  ...addressAs('billing'),
  ...addressAs('shipping'),
  'qr_settings[image_type]': 'svg',
  'items[][name]': 'Tea',
};

function addressAs(name: string): Form {
  const parts = { city: 'Bangkok', country: 'TH', postal_code: '10330', state: 'Bangkok', street1: '1', street2: '2' };
  return Object.fromEntries(Object.entries(parts).map(([part, value]) => [`${name}[${part}]`, value]));
}

/** The charge states that the API alone can reach. */
export type ChargeState = 'pending' | 'successful' | 'failed' | 'expired' | 'refunded' | 'voided';

/** A minimal valid picture. */
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

export function textIn(record: JsonObject, field: string): string {
  const text = record[field];
  if (typeof text !== 'string') throw new TypeError(`no ${field} in ${JSON.stringify(record)}`);
  return text;
}

/** Milliseconds since 1970. */
export function timeIn(record: JsonObject, field: string): number {
  return Date.parse(textIn(record, field));
}

export function idIn(record: JsonObject): string {
  return textIn(record, 'id');
}

export function recordsIn(list: JsonObject): readonly JsonObject[] {
  const { data } = list;
  if (!Array.isArray(data)) throw new TypeError(`no data in ${JSON.stringify(list)}`);
  return (data as readonly Json[]).filter(isObject);
}

/** One Monday each year. */
const YEARLY: Form = { every: 52, period: 'week', 'on[weekdays][]': 'monday', end_date: '2099-12-31' };
const TRANSFERS: Form = {
  ...YEARLY,
  'transfer[recipient]': 'recp_test_0000000000000000001',
  'transfer[currency]': 'THB',
};

export type SampleName =
  | 'plain source'
  | 'full source'
  | 'used source'
  | 'paid source'
  | 'pending charge'
  | 'full charge'
  | 'successful charge'
  | 'failed charge'
  | 'expired charge'
  | 'refunded charge'
  | 'voided charge'
  | 'refund'
  | 'void'
  | 'credit'
  | 'debit'
  | 'event'
  | 'delivered event'
  | 'account'
  | 'full account'
  | 'account versions'
  | 'receipt'
  | 'adjusted receipt'
  | 'charge schedule'
  | 'full charge schedule'
  | 'run charge schedule'
  | 'deleted schedule'
  | 'transfer schedule'
  | 'percentage schedule'
  | 'deleted transfer schedule'
  | 'occurrence'
  | 'scheduled charge'
  | 'open dispute'
  | 'disputed charge'
  | 'document'
  | 'deleted document'
  | 'customer'
  | 'card'
  | 'deleted card';

type Maker = (samples: Samples) => Promise<JsonObject>;

const MAKERS: Readonly<Record<SampleName, Maker>> = {
  'plain source': async ({ provider }) => await provider.record('POST', '/sources', { form: NEW_SOURCE }),
  'full source': async ({ provider }) => await provider.record('POST', '/sources', { form: FULL_SOURCE }),
  'paid source': async (samples) => {
    const { source } = await samples.newCharge('successful');
    return await samples.provider.record('GET', `/sources/${idIn(source as JsonObject)}`);
  },
  'used source': async (samples) => {
    const { source } = await samples.get('pending charge');
    return await samples.provider.record('GET', `/sources/${idIn(source as JsonObject)}`);
  },

  'pending charge': async (samples) => await samples.newCharge('pending'),
  'full charge': async ({ provider }) =>
    await provider.record('POST', '/charges', {
      form: {
        ...NEW_CHARGE,
        description: 'Order 7',
        return_uri: 'https://shop.example.com/done',
        'metadata[order]': '7',
      },
    }),
  'successful charge': async (samples) => await samples.newCharge('successful'),
  'failed charge': async (samples) => await samples.newCharge('failed'),
  'expired charge': async (samples) => await samples.newCharge('expired'),
  'refunded charge': async (samples) => await samples.newCharge('refunded'),
  'voided charge': async (samples) => await samples.newCharge('voided'),
  refund: async (samples) => await samples.firstOf(`/charges/${await samples.id('refunded charge')}/refunds`),
  void: async (samples) => await samples.firstOf(`/charges/${await samples.id('voided charge')}/refunds`),

  credit: async (samples) => await samples.transactionOf('successful charge'),
  debit: async (samples) => await samples.transactionOf('refund'),
  event: async (samples) => await samples.firstOf(`/charges/${await samples.id('pending charge')}/events`),
  'delivered event': async ({ provider, newCharge }) => {
    const receiver = await provider.receiver();
    const charge = idIn(await newCharge('pending'));
    const { body } = await receiver.first(({ data }) => isObject(data) && data['id'] === charge);
    const { id } = JSON.parse(body) as { id: string };
    return await provider.record('GET', `/events/${id}`);
  },

  account: async ({ provider }) => await provider.record('GET', '/account'),
  'full account': async (samples) => await samples.whileFull('/account'),
  'account versions': async (samples) => await samples.whileFull('/account/api_versions'),

  receipt: async (samples) => {
    const { provider } = samples;
    if (!(await provider.hasControl())) return await samples.firstOf('/receipts');
    return await provider.record('GET', `/receipts/${await samples.seeded('receipt')}`);
  },
  'adjusted receipt': async (samples) =>
    await samples.provider.record('GET', `/receipts/${await samples.seeded('adjusted receipt')}`),

  'charge schedule': async (samples) => await samples.newSchedule(),
  'full charge schedule': async (samples) => {
    const card = idIn(await samples.defaultCard());
    const form = { ...(await samples.scheduleForm()), 'charge[card]': card, 'charge[description]': 'Rent' };
    return await samples.provider.record('POST', '/schedules', { form });
  },
  'run charge schedule': async (samples) => {
    const { provider } = samples;
    const start = await provider.middayAfter();
    await provider.standAt(start);
    const end = new Date(start.getTime() + 5 * 86_400_000).toISOString().slice(0, 10);
    const form = { ...(await samples.scheduleForm()), every: 1, end_date: end };
    const id = idIn(await provider.record('POST', '/schedules', { form }));
    await provider.advance(3 * 86_400);
    return await provider.record('GET', `/schedules/${id}`);
  },
  'deleted schedule': async (samples) =>
    await samples.provider.record('DELETE', `/schedules/${idIn(await samples.newSchedule())}`),
  'transfer schedule': async ({ provider }) =>
    await provider.record('POST', '/schedules', { form: { ...TRANSFERS, 'transfer[amount]': 100_000 } }),
  'percentage schedule': async ({ provider }) =>
    await provider.record('POST', '/schedules', { form: { ...TRANSFERS, 'transfer[percentage_of_balance]': 75 } }),
  'deleted transfer schedule': async ({ provider }) => {
    const form = { ...TRANSFERS, 'transfer[amount]': 100_000 };
    const id = idIn(await provider.record('POST', '/schedules', { form }));
    return await provider.record('DELETE', `/schedules/${id}`);
  },
  occurrence: async (samples) =>
    await samples.firstOf(`/schedules/${await samples.id('run charge schedule')}/occurrences`),
  'scheduled charge': async (samples) => {
    const occurrence = await samples.get('occurrence');
    return await samples.provider.record('GET', `/charges/${textIn(occurrence, 'result')}`);
  },

  'open dispute': async (samples) => {
    return await samples.provider.record('GET', `/disputes/${await samples.seeded('open dispute')}`);
  },
  'disputed charge': async (samples) => {
    const dispute = await samples.get('open dispute');
    return await samples.provider.record('GET', `/charges/${textIn(dispute, 'charge')}`);
  },
  document: async (samples) => await samples.newDocument(),
  'deleted document': async (samples) => {
    const [dispute, document] = [await samples.id('open dispute'), idIn(await samples.newDocument())];
    return await samples.provider.record('DELETE', `/disputes/${dispute}/documents/${document}`);
  },
  customer: async (samples) => {
    return await samples.provider.record('GET', `/customers/${await samples.seeded('customer')}`);
  },
  card: async (samples) => await samples.firstOf(`/customers/${await samples.id('customer')}/cards`),
  'deleted card': async (samples) =>
    await samples.provider.record(
      'DELETE',
      `/customers/${await samples.id('customer')}/cards/${idIn(await samples.spareCard())}`,
    ),
};

/** Records that the API cannot create. */
type Seeded =
  | 'customer'
  | 'failing card'
  | 'open dispute'
  | 'pending dispute'
  | 'won dispute'
  | 'lost dispute'
  | 'receipt'
  | 'adjusted receipt';

const SEED: JsonObject = {
  customers: [
    {
      cards: [
        {
          last_digits: '4242',
          first_digits: '424242',
          street1: '1',
          street2: '2',
          city: 'Bangkok',
          state: 'Bangkok',
          phone_number: '+66800000000',
          postal_code: '10330',
          tokenization_method: 'wallet',
        },
        { last_digits: '0007' },
      ],
    },
  ],
  cards: [{ customer: 0, last_digits: '0002', failure_code: 'insufficient_fund' }],
  disputes: ['open', 'pending', 'won', 'lost'].map((status) => ({
    status,
    documents: [{ filename: 'receipt.png', kind: 'receipt', file: PNG.toString('base64') }],
  })),
  receipts: [
    { charge_fee: 1_000, vat: 70 },
    { charge_fee: 2_000, vat: 140, wht: 60, adjustment: 60 },
  ],
};

/** Shared records for the checks. Each is created on its first use, and no check changes it. */
export class Samples {
  #seeded: Promise<Readonly<Record<Seeded, string>>> | null = null;
  readonly #made = new Map<SampleName, Promise<JsonObject>>();

  constructor(readonly provider: ProviderUnderTest) {}

  /** @throws {NotShown} when this provider cannot have such a record. */
  async get(name: SampleName): Promise<JsonObject> {
    let made = this.#made.get(name);
    if (made === undefined) {
      made = MAKERS[name](this);
      this.#made.set(name, made);
    }
    return await made;
  }

  async id(name: SampleName): Promise<string> {
    return idIn(await this.get(name));
  }

  /** A new charge for a check that changes it. */
  readonly newCharge = async (state: ChargeState, form: Form = NEW_CHARGE): Promise<JsonObject> => {
    const { provider } = this;
    if (state === 'voided' && (await provider.hasControl())) await provider.standAt(await provider.middayAfter());
    const id = idIn(await provider.record('POST', '/charges', { form }));
    const act = async (path: string, body?: Form): Promise<unknown> =>
      await provider.record('POST', `/charges/${id}/${path}`, body === undefined ? {} : { form: body });
    switch (state) {
      case 'pending':
        break;
      case 'failed':
        await act('mark_as_failed');
        break;
      case 'expired':
        await act('expire');
        break;
      case 'successful':
        await act('mark_as_paid');
        break;
      case 'refunded':
        await act('mark_as_paid');
        await act('refunds', { amount: 50_000, 'metadata[reason]': 'returned' });
        break;
      case 'voided': {
        await act('mark_as_paid');
        const { can_perform_void: open } = await provider.record('GET', `/charges/${id}`);
        if (open !== true) throw new NotShown('the void window of today is over, and the clock cannot be moved');
        await act('refunds', { amount: Number(form['amount']), void: true });
      }
    }
    return await provider.record('GET', `/charges/${id}`);
  };

  /** The account with both addresses set. It restores them afterwards. */
  async whileFull(path: string): Promise<JsonObject> {
    const { provider } = this;
    if (provider.where.webhookSecret !== null) await provider.receiver();
    const before = await provider.record('GET', '/account');
    const form = { chain_return_uri: 'https://shop.example.com/chained' };
    await provider.record('PATCH', '/account', { form });
    const full = await provider.record('GET', path);
    const restored = typeof before['chain_return_uri'] === 'string' ? before['chain_return_uri'] : '';
    await provider.record('PATCH', '/account', { form: { chain_return_uri: restored } });
    return full;
  }

  /** The work of a schedule: it charges the customer's default card. */
  async scheduledCharge(): Promise<Form> {
    return {
      'charge[customer]': await this.id('customer'),
      'charge[amount]': 150_000,
      'charge[currency]': 'THB',
    };
  }

  /** A schedule that runs rarely, because the rows move the clock by years. */
  async scheduleForm(): Promise<Form> {
    return { every: 365, period: 'day', end_date: '2099-12-31', ...(await this.scheduledCharge()) };
  }

  async newSchedule(): Promise<JsonObject> {
    return await this.provider.record('POST', '/schedules', { form: await this.scheduleForm() });
  }

  /** The id of such a record: seeded with the control routes, or from the environment. */
  async seeded(name: Seeded): Promise<string> {
    const { provider } = this;
    if (await provider.hasControl()) {
      this.#seeded ??= this.#seed();
      return (await this.#seeded)[name];
    }
    const named = { customer: provider.where.customer, 'open dispute': provider.where.dispute };
    const id = Object.hasOwn(named, name) ? named[name as keyof typeof named] : null;
    if (id === null) throw new NotShown(`needs the id of a ${name}, or the control routes of the sandbox`);
    return id;
  }

  async #seed(): Promise<Readonly<Record<Seeded, string>>> {
    const seeded = (await this.provider.control('POST', '/seed', SEED)) as unknown as Readonly<
      Record<'customers' | 'cards' | 'disputes' | 'receipts', readonly string[]>
    >;
    const { customers, cards, disputes, receipts } = seeded;
    return {
      customer: customers[0] ?? '',
      'failing card': cards.at(-1) ?? '',
      'open dispute': disputes[0] ?? '',
      'pending dispute': disputes[1] ?? '',
      'won dispute': disputes[2] ?? '',
      'lost dispute': disputes[3] ?? '',
      receipt: receipts[0] ?? '',
      'adjusted receipt': receipts[1] ?? '',
    };
  }

  /** A card that a check may change or delete. */
  async spareCard(): Promise<JsonObject> {
    const customer = await this.id('customer');
    const { cards } = (await this.provider.control('POST', '/seed', { cards: [{ customer }] })) as {
      readonly cards: readonly string[];
    };
    return await this.provider.record('GET', `/customers/${customer}/cards/${cards[0]}`);
  }

  async defaultCard(): Promise<JsonObject> {
    const customer = await this.get('customer');
    return await this.provider.record('GET', `/customers/${idIn(customer)}/cards/${textIn(customer, 'default_card')}`);
  }

  /** A dispute that is no longer open, with a document from before. */
  async closedDispute(status: 'pending' | 'won' | 'lost'): Promise<{ dispute: string; document: string }> {
    const dispute = await this.seeded(`${status} dispute`);
    return { dispute, document: idIn(await this.firstOf(`/disputes/${dispute}/documents`)) };
  }

  documentForm(): Form {
    return { file: `data:image/png;base64,${PNG.toString('base64')}` };
  }

  async newDocument(): Promise<JsonObject> {
    const multipart = new FormData();
    multipart.set('file', new Blob([PNG], { type: 'image/png' }), 'receipt.png');
    multipart.set('kind', 'receipt');
    return await this.provider.record('POST', `/disputes/${await this.id('open dispute')}/documents`, { multipart });
  }

  async firstOf(path: string): Promise<JsonObject> {
    const [first] = recordsIn(await this.provider.record('GET', path));
    if (first === undefined) throw new NotShown(`there is no record at ${path}`);
    return first;
  }

  async transactionOf(name: SampleName): Promise<JsonObject> {
    return await this.provider.record('GET', `/transactions/${textIn(await this.get(name), 'transaction')}`);
  }
}
