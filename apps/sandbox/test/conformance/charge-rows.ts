import type { JsonObject } from './kinds.js';
import type { Form } from './provider.js';
import { at, expect, expectRefusal, type Row } from './row.js';
import {
  idIn,
  NEW_CHARGE,
  NEW_SOURCE,
  PAYMENT,
  recordsIn,
  type ChargeState,
  type Samples,
  textIn,
  timeIn,
} from './samples.js';
import { AMOUNT_LIMITS, FAILURES, FEES, STATES, TRANSITIONS, TRIGGERS, type Transition } from './states.js';

const rule = (fact: string, shows: Row['shows']): Row => ({ fact, shows });
const stateOf = (state: ChargeState) => `${state} charge` as const;
const retrieve = async (samples: Samples, charge: JsonObject): Promise<JsonObject> =>
  await samples.provider.record('GET', `/charges/${idIn(charge)}`);

/** A charge without the end of its embedded list, which moves with time. */
function settled(charge: JsonObject): JsonObject {
  const { to, ...refunds } = charge['refunds'] as JsonObject;
  expect(to).toBeDefined();
  return { ...charge, refunds };
}

/** Source: API reference, "Charge"; assumption, "Flags while pending". */
const STATE_ROWS: readonly Row[] = Object.entries(STATES).flatMap(([state, shown]) =>
  Object.entries(shown).map(([field, value]) => ({
    fact: `a ${state} charge shows ${field} = ${JSON.stringify(value)}`,
    shows: async (samples: Samples) =>
      expect(at(await samples.get(stateOf(state as ChargeState)), field)).toEqual(value),
  })),
);

const TRANSITION_ROWS: readonly Row[] = TRANSITIONS.map((transition) => {
  const { from, trigger, to, refused } = transition;
  const end =
    to === undefined ? `refused with 400 ${refused ?? ''}`.trim() : `${to.status}, and the event is ${to.event}`;
  return {
    fact: `a ${from} charge with ${trigger} is ${end}`,
    shows: async (samples) => await expectTransition(transition, samples),
  };
});

async function expectTransition({ from, trigger, to, refused }: Transition, samples: Samples): Promise<void> {
  const { provider } = samples;
  const before = await samples.newCharge(from);
  const { path, form } = TRIGGERS[trigger];
  const reply = await provider.call('POST', `/charges/${idIn(before)}/${path}`, form === undefined ? {} : { form });
  const after = await retrieve(samples, before);
  if (to === undefined) {
    expectRefusal(reply, 400, refused ?? null);
    expect(settled(after)).toEqual(settled(before));
    return;
  }
  expect(reply.status).toBe(200);
  expect(after['status']).toBe(to.status);
  expect(at(after, 'source.charge_status')).toBe(to.status);
  const events = recordsIn(
    await provider.record('GET', `/charges/${idIn(before)}/events`, { query: { order: 'reverse_chronological' } }),
  );
  const event = events.find(({ key }) => key === to.event);
  expect(at(event, 'data.id')).toBe(reply.record['id']);
  expect(at(event, 'data.status')).toBe(reply.record['status']);
}

/** Source: API reference, "Limits". */
const LIMIT_ROWS: readonly Row[] = AMOUNT_LIMITS.flatMap(({ currency, minimum, maximum }) => {
  const makers: readonly { readonly path: string; readonly rest: Form }[] = [
    { path: '/sources', rest: { type: 'wallet_mpm' } },
    { path: '/charges', rest: { 'source[type]': 'wallet_mpm' } },
  ];
  return makers.flatMap(({ path, rest }) => {
    const call = async ({ provider }: Samples, amount: number) =>
      await provider.call('POST', path, { form: { amount, currency, ...rest } });
    const taken = [minimum, maximum].map((amount) =>
      rule(`POST ${path} takes ${currency} ${amount}`, async (samples) =>
        expect((await call(samples, amount)).record).toMatchObject({ amount, currency }),
      ),
    );
    const refused = [minimum - 1, maximum + 1, 0, -minimum].map((amount) =>
      rule(`POST ${path} refuses ${currency} ${amount} with 400 invalid_amount`, async (samples) =>
        expectRefusal(await call(samples, amount), 400, 'invalid_amount'),
      ),
    );
    return taken.concat(refused);
  });
});

const FAILURE_ROWS: readonly Row[] = FAILURES.map(({ code, message }) => ({
  fact: `a charge that failed with ${code} says "${message}"`,
  shows: async (samples) => {
    const { provider } = samples;
    const id = idIn(await samples.newCharge('pending'));
    await provider.control('POST', `/charges/${id}/mark`, { status: 'failed', failure_code: code });
    expect(await provider.record('GET', `/charges/${id}`)).toMatchObject({
      status: 'failed',
      failure_code: code,
      failure_message: message,
    });
  },
}));

const FEE_ROWS: readonly Row[] = FEES.flatMap(({ amount, currency, fee, feeVat, net }) => {
  const form = { amount, currency, 'source[type]': 'wallet_mpm' };
  return [
    {
      fact: `a charge of ${currency} ${amount} costs ${fee} and ${feeVat} VAT, and nets ${net}`,
      shows: async (samples: Samples) =>
        expect(await samples.newCharge('successful', form)).toMatchObject({
          fee,
          fee_vat: feeVat,
          net,
          interest: 0,
          interest_vat: 0,
          funding_amount: amount,
          funding_currency: currency,
        }),
    },
    {
      fact: `its payment of ${currency} ${amount} is a credit of ${net}`,
      shows: async (samples: Samples) => {
        const charge = await samples.newCharge('successful', form);
        expect(await samples.provider.record('GET', `/transactions/${textIn(charge, 'transaction')}`)).toMatchObject({
          direction: 'credit',
          amount: net,
          currency,
          origin: charge['id'],
          key: 'charge.capture',
        });
      },
    },
  ];
});

async function refundOf(samples: Samples, form: Form, state: ChargeState = 'successful') {
  const charge = await samples.newCharge(state);
  return {
    charge,
    reply: await samples.provider.call('POST', `/charges/${idIn(charge)}/refunds`, { form }),
  };
}

const SOURCE_RULES: readonly Row[] = [
  rule('a new source is unknown, offline and has no QR code', async (samples) =>
    expect(await samples.get('plain source')).toMatchObject({
      ...NEW_SOURCE,
      charge_status: 'unknown',
      flow: 'offline',
      scannable_code: null,
      items: [],
      discounts: [],
    }),
  ),
  rule('a source shows every field that was sent', async (samples) =>
    expect(await samples.get('full source')).toMatchObject({
      zero_interest_installments: true,
      installment_term: 3,
      email: 'till@example.com',
      store_name: 'Central',
      terminal_id: 'till-7',
      billing: { city: 'Bangkok', postal_code: '10330', street2: '2' },
      shipping: { country: 'TH', state: 'Bangkok', street1: '1' },
      qr_settings: { image_type: 'svg' },
      items: [{ name: 'Tea' }],
    }),
  ),
  rule('a retrieved source equals the created one', async (samples) => {
    const source = await samples.get('plain source');
    expect(await samples.provider.record('GET', `/sources/${idIn(source)}`)).toEqual(source);
  }),
  ...(['pending', 'successful', 'failed', 'expired'] as const).map((state) =>
    rule(`the source of a ${state} charge shows charge_status = "${state}"`, async (samples) => {
      const { source } = await samples.newCharge(state);
      const path = `/sources/${idIn(source as JsonObject)}`;
      const { charge_status: status } = await samples.provider.record('GET', path);
      expect(status).toBe(state);
    }),
  ),
  rule('a source of another type is 400', async ({ provider }) =>
    expectRefusal(await provider.call('POST', '/sources', { form: { ...PAYMENT, type: 'card' } }), 400, 'bad_request'),
  ),
  rule('a source in a currency other than THB, SGD and MYR is 400', async ({ provider }) =>
    expectRefusal(await provider.call('POST', '/sources', { form: { ...NEW_SOURCE, currency: 'USD' } }), 400, null),
  ),
];

async function chargeWith(samples: Samples, form: Form) {
  const { provider } = samples;
  const source = idIn(await provider.record('POST', '/sources', { form: NEW_SOURCE, key: 'public' }));
  return { source, reply: await provider.call('POST', '/charges', { form: { ...PAYMENT, source, ...form } }) };
}

const CHARGE_RULES: readonly Row[] = [
  rule('a charge uses a source that was created with the public key', async (samples) => {
    const { source, reply } = await chargeWith(samples, {});
    expect(reply.status).toBe(200);
    expect(at(reply.json, 'source.id')).toBe(source);
    expect(at(reply.json, 'source.charge_status')).toBe('pending');
  }),
  rule('source[type] creates a source with the charge in one request', async ({ provider }) => {
    const charge = await provider.record('POST', '/charges', { form: NEW_CHARGE });
    const source = await provider.record('GET', `/sources/${idIn(charge['source'] as JsonObject)}`);
    expect(source).toEqual(charge['source']);
  }),
  rule('a charge whose amount differs from its source is 400 invalid_charge', async (samples) =>
    expectRefusal((await chargeWith(samples, { amount: 150_001 })).reply, 400, 'invalid_charge'),
  ),
  rule('a charge whose currency differs from its source is 400 invalid_charge', async (samples) =>
    expectRefusal((await chargeWith(samples, { currency: 'MYR' })).reply, 400, 'invalid_charge'),
  ),
  rule('a refused charge leaves its source unused', async (samples) => {
    const { source } = await chargeWith(samples, { amount: 150_001 });
    const reply = await samples.provider.call('POST', '/charges', { form: { ...PAYMENT, source } });
    expect(reply.status).toBe(200);
  }),
  rule('a second charge with the same source is 400 invalid_charge', async (samples) => {
    const { source } = await chargeWith(samples, {});
    const again = await samples.provider.call('POST', '/charges', { form: { ...PAYMENT, source } });
    expectRefusal(again, 400, 'invalid_charge');
  }),
  rule('the same request twice creates two charges', async ({ provider }) => {
    const headers = { 'Idempotency-Key': 'the-same' };
    const once = await provider.record('POST', '/charges', { form: NEW_CHARGE, headers });
    const twice = await provider.record('POST', '/charges', { form: NEW_CHARGE, headers });
    expect(twice['id']).not.toBe(once['id']);
  }),
  rule('a retrieved charge equals the created one', async (samples) => {
    const { provider } = samples;
    const charge = await provider.record('POST', '/charges', { form: NEW_CHARGE });
    expect(settled(await retrieve(samples, charge))).toEqual(settled(charge));
  }),
  rule('a charge shows its description, metadata and return_uri', async (samples) =>
    expect(await samples.get('full charge')).toMatchObject({
      description: 'Order 7',
      metadata: { order: '7' },
      return_uri: 'https://shop.example.com/done',
    }),
  ),
  rule('a charge expires 24 hours after its creation by default', async (samples) => {
    const charge = await samples.get('pending charge');
    const wait = timeIn(charge, 'expires_at') - timeIn(charge, 'created_at');
    expect(wait).toBe(86_400_000);
  }),
  rule('a charge expires at the given expires_at', async ({ provider }) => {
    const form = { ...NEW_CHARGE, expires_at: '2999-01-01T00:00:00Z' };
    const charge = await provider.record('POST', '/charges', { form });
    expect(timeIn(charge, 'expires_at')).toBe(Date.UTC(2999, 0, 1));
  }),
  rule('a charge takes two webhook_endpoints and refuses three', async ({ provider }) => {
    const endpoint = 'webhook_endpoints[]=https%3A%2F%2Fshop.example.com%2Fhook';
    const charge = 'amount=150000&currency=THB&source[type]=wallet_mpm';
    const call = async (many: number) =>
      await provider.call('POST', '/charges', { raw: [charge, ...Array<string>(many).fill(endpoint)].join('&') });
    expect((await call(2)).status).toBe(200);
    expectRefusal(await call(3), 400, 'bad_request');
  }),
  rule('the QR image of a charge downloads without a key, as SVG', async (samples) => {
    const charge = await samples.get('pending charge');
    const response = await fetch(textIn(at(charge, 'source.scannable_code.image') as JsonObject, 'download_uri'));
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^image\/svg\+xml/);
    expect(await response.text()).toContain('<svg');
  }),
  rule('a failed charge has a failure_code and its failure_message', async (samples) => {
    const { failure_code: code, failure_message: message } = await samples.get('failed charge');
    expect(FAILURES).toContainEqual({ code, message });
  }),
  rule('a successful charge has the time of its payment', async (samples) => {
    const charge = await samples.get('successful charge');
    expect(timeIn(charge, 'paid_at')).toBeGreaterThanOrEqual(timeIn(charge, 'created_at'));
  }),
  rule('a new charge sends the event charge.create', async (samples) =>
    expect(await samples.get('event')).toMatchObject({ key: 'charge.create', data: { object: 'charge' } }),
  ),
  rule('an event keeps the record as it was then', async (samples) => {
    const id = await samples.id('successful charge');
    const [first] = recordsIn(await samples.provider.record('GET', `/charges/${id}/events`));
    expect(first).toMatchObject({ key: 'charge.create', data: { id, status: 'pending', paid: false } });
  }),
];

const REFUND_RULES: readonly Row[] = [
  rule('a refund has its amount, currency, charge and metadata', async (samples) =>
    expect(await samples.get('refund')).toMatchObject({
      amount: 50_000,
      currency: 'THB',
      charge: await samples.id('refunded charge'),
      voided: false,
      status: 'closed',
      metadata: { reason: 'returned' },
    }),
  ),
  rule('a void has the full amount and voided = true', async (samples) =>
    expect(await samples.get('void')).toMatchObject({ amount: 150_000, voided: true }),
  ),
  rule('a charge embeds its refunds as a list with its own location', async (samples) => {
    const charge = await samples.get('refunded charge');
    const id = idIn(charge);
    const list = await samples.provider.record('GET', `/charges/${id}/refunds`);
    expect(at(charge, 'refunds.location')).toBe(`/charges/${id}/refunds`);
    expect(at(charge, 'refunds.data')).toEqual(list['data']);
  }),
  rule('a charge embeds its first 20 refunds and counts them all', async (samples) => {
    const charge = await samples.newCharge('successful');
    for (let i = 0; i < 21; i += 1) {
      await samples.provider.record('POST', `/charges/${idIn(charge)}/refunds`, { form: { amount: 100 } });
    }
    const { refunds } = await retrieve(samples, charge);
    expect(refunds).toMatchObject({ limit: 20, offset: 0, total: 21, order: 'chronological' });
    expect(recordsIn(refunds as JsonObject)).toHaveLength(20);
  }),
  rule('a charge is no longer refundable after a full refund', async (samples) => {
    const { charge, reply } = await refundOf(samples, { amount: 150_000 });
    expect(reply.status).toBe(200);
    expect(await retrieve(samples, charge)).toMatchObject({
      status: 'successful',
      refunded_amount: 150_000,
      refundable: false,
      partially_refundable: false,
    });
  }),
  rule('a partly refunded charge can be refunded up to the rest', async (samples) => {
    const { charge, reply } = await refundOf(samples, { amount: 100_001 }, 'refunded');
    expectRefusal(reply, 400, 'failed_refund');
    const rest = await samples.provider.call('POST', `/charges/${idIn(charge)}/refunds`, { form: { amount: 100_000 } });
    expect(rest.status).toBe(200);
  }),
  rule('a refund above the paid amount is 400 failed_refund', async (samples) =>
    expectRefusal((await refundOf(samples, { amount: 150_001 })).reply, 400, 'failed_refund'),
  ),
  rule('a refund of 0 is 400', async (samples) =>
    expectRefusal((await refundOf(samples, { amount: 0 })).reply, 400, null),
  ),
  rule('a refund does not return the fee: the debit is the refunded amount', async (samples) =>
    expect(await samples.get('debit')).toMatchObject({
      direction: 'debit',
      amount: 50_000,
      key: 'refund.create',
      origin: await samples.id('refund'),
    }),
  ),
  rule('a void returns the fee: the debit equals the credit', async (samples) => {
    const debit = await samples.transactionOf('void');
    const credit = await samples.transactionOf('voided charge');
    expect(debit).toMatchObject({ direction: 'debit', amount: 147_352, origin: await samples.id('void') });
    expect(credit['amount']).toBe(debit['amount']);
  }),
  ...(
    [
      ['refunded', 147_352 - 50_000],
      ['voided', 0],
      ['failed', 0],
    ] as const
  ).map(([state, balance]) =>
    rule(`the transactions of a ${state} charge sum to ${balance}`, async (samples) => {
      const charge = await samples.get(stateOf(state));
      const refunds = recordsIn(charge['refunds'] as JsonObject);
      const moved = [charge, ...refunds].filter(({ transaction }) => transaction !== null);
      let sum = 0;
      for (const record of moved) {
        const path = `/transactions/${textIn(record, 'transaction')}`;
        const { direction, amount } = await samples.provider.record('GET', path);
        sum += direction === 'credit' ? Number(amount) : -Number(amount);
      }
      expect(sum).toBe(balance);
    }),
  ),
  rule('a transaction is transferable after seven days', async (samples) => {
    const credit = await samples.get('credit');
    expect(timeIn(credit, 'transferable_at') - timeIn(credit, 'created_at')).toBe(7 * 86_400_000);
  }),
];

/** Source: API reference, "States and transitions", "Charges", "Limits", "Errors"; assumptions. */
export const CHARGE_ROWS: readonly Row[] = [
  ...STATE_ROWS,
  ...TRANSITION_ROWS,
  ...LIMIT_ROWS,
  ...FAILURE_ROWS,
  ...FEE_ROWS,
  ...SOURCE_RULES,
  ...CHARGE_RULES,
  ...REFUND_RULES,
];
