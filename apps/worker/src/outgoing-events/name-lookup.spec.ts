import type { LookupAddress } from 'node:dns';
import { expect, it } from 'vitest';
import { nameLookup } from './name-lookup.js';

const failure = () => Promise.reject(new Error('the name server says no'));
const LOCAL = [{ address: '127.0.0.1', family: 4 }];

/** Looks a name up with these answers of the name servers. The system knows 127.0.0.1 for every name. */
async function lookedUp(resolve4: () => Promise<string[]>, resolve6: () => Promise<string[]>, hasIpv6 = true) {
  let isSystemAsked = false;
  const system = async (): Promise<LookupAddress[]> => {
    isSystemAsked = true;
    return LOCAL;
  };
  const look = nameLookup(
    () => ({ resolve4, resolve6 }) as never,
    system,
    () => hasIpv6,
  );
  return { addresses: await look('orders.example', { all: true }), isSystemAsked };
}

it('a name has the addresses that the name servers answer, of both families', async () => {
  expect(
    await lookedUp(
      async () => ['192.0.2.1', '192.0.2.2'],
      async () => ['2001:db8::1'],
    ),
  ).toEqual({
    addresses: [
      { address: '192.0.2.1', family: 4 },
      { address: '192.0.2.2', family: 4 },
      { address: '2001:db8::1', family: 6 },
    ],
    isSystemAsked: false,
  });
});

it('a name has only the addresses of one family when the name servers have no other, or the host has no other', async () => {
  const only4 = { addresses: [{ address: '192.0.2.1', family: 4 }], isSystemAsked: false };
  expect(await lookedUp(async () => ['192.0.2.1'], failure)).toEqual(only4);
  expect(
    await lookedUp(
      async () => ['192.0.2.1'],
      async () => ['2001:db8::1'],
      false,
    ),
  ).toEqual(only4);
});

it('a name that the name servers do not know is looked up by the system', async () => {
  expect(await lookedUp(failure, failure)).toEqual({ addresses: LOCAL, isSystemAsked: true });
});

it('names that the name servers do not know are looked up by the system one after another, and each once', async () => {
  const ends: (() => void)[] = [];
  const system = (): Promise<LookupAddress[]> => new Promise((resolve) => ends.push(() => resolve(LOCAL)));
  const look = nameLookup(() => ({ resolve4: failure, resolve6: failure }), system);
  const looked = ['orders.example', 'stock.example', 'orders.example'].map((name) => look(name, { all: true }));
  await expect.poll(() => ends.length).toBe(1);
  ends[0]?.();
  await expect.poll(() => ends.length).toBe(2);
  ends[1]?.();
  expect(await Promise.all(looked)).toEqual([LOCAL, LOCAL, LOCAL]);
  expect(ends).toHaveLength(2);
});

/** The name servers do not know this name. */
const unknown = () => Promise.reject(Object.assign(new Error('unknown'), { code: 'ENOTFOUND' }));
const WITHIN_MS = 50;

/** Looks names up while the system does not answer for `dead.example`, nor do the name servers of any such name. */
function withDeadName() {
  const asked: string[] = [];
  const system = (name: string): Promise<LookupAddress[]> => {
    asked.push(name);
    return name === 'dead.example' ? new Promise(() => undefined) : Promise.resolve(LOCAL);
  };
  const resolve4 = (name: string): Promise<string[]> => (name.endsWith('.example') ? failure() : unknown());
  const look = nameLookup(
    () => ({ resolve4, resolve6: resolve4 }) as never,
    system,
    () => true,
    WITHIN_MS,
  );
  return { asked, look: (name: string) => look(name, { all: true }) };
}

it('a name that is never looked up delays no name that the name servers do not know', async () => {
  const { look } = withDeadName();
  const dead = look('dead.example');
  dead.catch(() => undefined);
  expect(await look('till.local')).toEqual(LOCAL);
  await expect(dead).rejects.toThrow('not looked up within');
});

it('names for which no name server answers are looked up one at a time, and each waits for a bounded time', async () => {
  const { look, asked } = withDeadName();
  const looked = await Promise.allSettled(['dead.example', 'other.example', 'dead.example'].map(look));
  expect(looked.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  await expect(look('dead.example')).rejects.toThrow('not looked up within');
  expect(asked).toEqual(['dead.example']);
});
