import { NODATA, NOTFOUND, TIMEOUT, type LookupAddress } from 'node:dns';
import { expect, it } from 'vitest';
import { nameLookup } from './name-lookup.js';

const failure = (code: string) => () => Promise.reject(Object.assign(new Error(code), { code }));

/** Looks a name up with these answers of the name servers. The system knows 127.0.0.1 for every name. */
async function lookedUp(resolve4: () => Promise<string[]>, resolve6: () => Promise<string[]>) {
  let isSystemAsked = false;
  const system = async (): Promise<LookupAddress[]> => {
    isSystemAsked = true;
    return [{ address: '127.0.0.1', family: 4 }];
  };
  const look = nameLookup({ resolve4, resolve6 } as never, system);
  try {
    const addresses = await look('orders.example', { all: true });
    return { error: null, addresses, isSystemAsked };
  } catch (error) {
    return { error: (error as Error).message, addresses: [], isSystemAsked };
  }
}

it('a name has the addresses that the name servers answer, of both families', async () => {
  expect(
    await lookedUp(
      async () => ['192.0.2.1', '192.0.2.2'],
      async () => ['2001:db8::1'],
    ),
  ).toEqual({
    error: null,
    addresses: [
      { address: '192.0.2.1', family: 4 },
      { address: '192.0.2.2', family: 4 },
      { address: '2001:db8::1', family: 6 },
    ],
    isSystemAsked: false,
  });
});

it('a name with addresses of one family needs no answer about the other', async () => {
  const { addresses } = await lookedUp(async () => ['192.0.2.1'], failure(TIMEOUT));
  expect(addresses).toEqual([{ address: '192.0.2.1', family: 4 }]);
});

it('a name that the name servers do not know is looked up by the system', async () => {
  const { addresses, isSystemAsked } = await lookedUp(failure(NOTFOUND), failure(NODATA));
  expect([addresses, isSystemAsked]).toEqual([[{ address: '127.0.0.1', family: 4 }], true]);
});

it('a name whose name servers do not answer uses no thread of the system', async () => {
  expect(await lookedUp(failure(TIMEOUT), failure(NODATA))).toEqual({
    error: TIMEOUT,
    addresses: [],
    isSystemAsked: false,
  });
});
