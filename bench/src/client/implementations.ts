import { PaymentsClient } from '@tillflow/payments-client';
import Stripe from 'stripe';
import { request } from 'undici';
import { CHARGE, CHARGE_FORM, CHARGE_ID, PAGE_SIZE, PREFIX, type Operation } from './operations.js';

/** One way to call the provider. Each method calls it once and returns the parsed reply. */
export type Implementation = Readonly<Record<Operation, () => Promise<unknown>>>;

const SECRET_KEY = 'skey_test_bench';

const HEADERS = {
  authorization: `Basic ${Buffer.from(`${SECRET_KEY}:`).toString('base64')}`,
  accept: 'application/json',
  'user-agent': 'bench',
} as const;
const FORM_HEADERS = { ...HEADERS, 'content-type': 'application/x-www-form-urlencoded' } as const;

const CREATE_PATH = `${PREFIX}/charges`;
const RETRIEVE_PATH = `${PREFIX}/charges/${CHARGE_ID}`;
const LIST_PATH = `${PREFIX}/charges?limit=${PAGE_SIZE}`;

/** `undici.request` without any check. */
function rawUndici(url: string): Implementation {
  const get = async (path: string): Promise<unknown> =>
    (await request(`${url}${path}`, { headers: HEADERS })).body.json();
  return {
    create: async () => {
      const options = { method: 'POST', headers: FORM_HEADERS, body: CHARGE_FORM } as const;
      return (await request(`${url}${CREATE_PATH}`, options)).body.json();
    },
    retrieve: () => get(RETRIEVE_PATH),
    list: () => get(LIST_PATH),
  };
}

function nodeFetch(url: string): Implementation {
  const get = async (path: string): Promise<unknown> => (await fetch(`${url}${path}`, { headers: HEADERS })).json();
  return {
    create: async () => {
      const reply = await fetch(`${url}${CREATE_PATH}`, { method: 'POST', headers: FORM_HEADERS, body: CHARGE_FORM });
      return reply.json();
    },
    retrieve: () => get(RETRIEVE_PATH),
    list: () => get(LIST_PATH),
  };
}

/** The stripe package with its defaults, pointed at the bench's server. */
function stripe(url: string): Implementation {
  const { hostname, port } = new URL(url);
  const client = new Stripe(SECRET_KEY, { protocol: 'http', host: hostname, port });
  const { amount, currency, description, metadata } = CHARGE;
  return {
    create: () => client.charges.create({ amount, currency, source: 'tok_visa', description, metadata }),
    retrieve: () => client.charges.retrieve(CHARGE_ID),
    list: () => client.charges.list({ limit: PAGE_SIZE }),
  };
}

function tillflow(url: string): Implementation {
  const client = new PaymentsClient({ baseUrl: `${url}${PREFIX}`, secretKey: SECRET_KEY });
  return {
    create: () => client.charges.create(CHARGE),
    retrieve: () => client.charges.retrieve(CHARGE_ID),
    list: () => client.charges.list({ limit: PAGE_SIZE }),
  };
}

/** Raw undici is measured twice: the difference between the two shows the noise of the run. */
export const IMPLEMENTATIONS = {
  client: tillflow,
  'undici.request': rawUndici,
  'undici.request again': rawUndici,
  fetch: nodeFetch,
  stripe,
} as const satisfies Readonly<Record<string, (url: string) => Implementation>>;

export type ImplementationName = keyof typeof IMPLEMENTATIONS;
