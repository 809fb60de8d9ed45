import { createSandbox } from '@tillflow/sandbox';
import { request } from 'undici';

/** The operations of every implementation. */
export const OPERATIONS = ['create', 'retrieve', 'list'] as const;
export type Operation = (typeof OPERATIONS)[number];

/** Charges on the page of `list`. */
export const PAGE_SIZE = 100;

/** The parameters of `create`. The server's reply fits them. */
export const CHARGE = {
  amount: 150_000,
  currency: 'THB',
  source: { type: 'wallet_mpm' },
  description: 'Order 7',
  metadata: { order: '7', till: 'till-3' },
} as const;

/** The encoded {@link CHARGE}, for implementations without an encoder. */
export const CHARGE_FORM =
  'amount=150000&currency=THB&source%5Btype%5D=wallet_mpm&description=Order%207' +
  '&metadata%5Border%5D=7&metadata%5Btill%5D=till-3';

/** The charge of `retrieve`. */
export const CHARGE_ID = 'chrg_test_5xuyshzbqxn2ojxsdpe';

/** The prefix of each path, because the stripe package always adds it. */
export const PREFIX = '/v1';

/** The sandbox's replies to the operations, which have real shapes and sizes. */
export async function repliesOfSandbox(): Promise<Readonly<Record<Operation, string>>> {
  const sandbox = createSandbox({ seed: 'bench-client' });
  const { url } = await sandbox.listen({ port: 0 });
  const authorization = `Basic ${Buffer.from(`${sandbox.keys.secret}:`).toString('base64')}`;
  const call = async (method: 'GET' | 'POST', path: string, form?: string): Promise<string> => {
    const { statusCode, body } = await request(`${url}${path}`, {
      method,
      headers: { authorization, ...(form !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }) },
      body: form ?? null,
    });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`${method} ${path} answered ${statusCode}: ${text}`);
    return text;
  };
  try {
    let id = '';
    for (let made = 0; made < PAGE_SIZE; made += 1) {
      ({ id } = JSON.parse(await call('POST', '/charges', CHARGE_FORM)) as { id: string });
      if (made % 2 === 0) await call('POST', `/charges/${id}/mark_as_paid`);
    }
    return {
      create: await call('POST', '/charges', CHARGE_FORM),
      // Tillflow's client refuses a reply with another id than the requested one.
      retrieve: (await call('GET', `/charges/${id}`)).replaceAll(id, CHARGE_ID),
      list: await call('GET', `/charges?limit=${PAGE_SIZE}`),
    };
  } finally {
    await sandbox.close();
  }
}
