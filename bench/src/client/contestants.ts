import { PaymentsClient } from '@tillflow/payments-client';
import Stripe from 'stripe';
import { Pool, request, type Dispatcher } from 'undici';
import { CHARGE, CHARGE_FORM, CHARGE_ID, PAGE_SIZE, PREFIX, type Operation } from './operations.js';

/** Each does the operation once, and answers with the parsed reply. */
export type Contestant = Readonly<Record<Operation, () => Promise<unknown>>>;

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

/** As in our client: more than are used at once. */
const CONNECTIONS = 128;

/** By hand, and without any check: what the client is compared with. */
function rawUndici(url: string): Contestant {
  const get = async (path: string): Promise<unknown> =>
    (await request(`${url}${path}`, { headers: HEADERS })).body.json();
  return {
    create: async () => {
      const { body } = await request(`${url}${CREATE_PATH}`, {
        method: 'POST',
        headers: FORM_HEADERS,
        body: CHARGE_FORM,
      });
      return body.json();
    },
    retrieve: () => get(RETRIEVE_PATH),
    list: () => get(LIST_PATH),
  };
}

/** A pool and a handler that only collects: the least that undici can do. */
function floor(url: string): Contestant {
  const pool = new Pool(url, { connections: CONNECTIONS, pipelining: 1 });
  const send = (options: Pick<Dispatcher.DispatchOptions, 'method' | 'path' | 'headers' | 'body'>): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      pool.dispatch(options, {
        onRequestStart: () => undefined,
        onResponseStart: () => undefined,
        onResponseData: (_controller, chunk) => void chunks.push(chunk),
        onResponseEnd: () => resolve(JSON.parse(Buffer.concat(chunks).toString())),
        onResponseError: (_controller, error) => reject(error),
      });
    });
  return {
    create: () => send({ method: 'POST', path: CREATE_PATH, headers: FORM_HEADERS, body: CHARGE_FORM }),
    retrieve: () => send({ method: 'GET', path: RETRIEVE_PATH, headers: HEADERS }),
    list: () => send({ method: 'GET', path: LIST_PATH, headers: HEADERS }),
  };
}

function nodeFetch(url: string): Contestant {
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

/** With its defaults, pointed at the bench's server. */
function stripe(url: string): Contestant {
  const { hostname, port } = new URL(url);
  const client = new Stripe(SECRET_KEY, { protocol: 'http', host: hostname, port });
  const { amount, currency, description, metadata } = CHARGE;
  return {
    create: () => client.charges.create({ amount, currency, source: 'tok_visa', description, metadata }),
    retrieve: () => client.charges.retrieve(CHARGE_ID),
    list: () => client.charges.list({ limit: PAGE_SIZE }),
  };
}

function ours(url: string): Contestant {
  const client = new PaymentsClient({ baseUrl: `${url}${PREFIX}`, secretKey: SECRET_KEY });
  return {
    create: () => client.charges.create(CHARGE),
    retrieve: () => client.charges.retrieve(CHARGE_ID),
    list: () => client.charges.list({ limit: PAGE_SIZE }),
  };
}

/** Raw undici comes twice: how far the two are apart is how far the run can be believed. */
export const CONTESTANTS = {
  client: ours,
  'undici.request': rawUndici,
  'undici.request again': rawUndici,
  'pool and handler': floor,
  fetch: nodeFetch,
  stripe,
} as const satisfies Readonly<Record<string, (url: string) => Contestant>>;

export type ContestantName = keyof typeof CONTESTANTS;
