import { describe, expect, it } from 'vitest';
import { instant } from '../instant.js';
import { paidCharge } from '../testing/one-payment.js';
import type { ProviderCharge } from './records.js';
import { inSlices, Peekable } from './slices.js';

const MINUTE = 60_000;
const at = (minutes: number) => instant(minutes * MINUTE);

/** Minutes of the creation and the payment, and the id. */
type Row = readonly [created: number, paid: number | null, id?: string];

async function* listOf(rows: readonly Row[]): AsyncGenerator<ProviderCharge> {
  for (const [created, paid, id = `c${created}`] of rows) {
    yield await Promise.resolve({ ...paidCharge, id, createdAt: at(created), paidAt: paid === null ? null : at(paid) });
  }
}

/** Each slice as its charges, its end and where the later charges begin, in minutes. */
async function cut(rows: readonly Row[], { from = 0, to = 150, size = 1_000 } = {}): Promise<unknown[]> {
  const slices: unknown[] = [];
  for await (const { charges, until, listFrom } of inSlices(listOf(rows), { at: at(from), to: at(to), size })) {
    slices.push([charges.map(({ id }) => id), until / MINUTE, listFrom / MINUTE]);
  }
  return slices;
}

describe('inSlices', () => {
  it('cuts a time without charges into hours', async () => {
    expect(await cut([])).toEqual([
      [[], 60, 150],
      [[], 120, 150],
      [[], 150, 150],
    ]);
  });

  it('contains the charges paid from the beginning on and before the end, and no others', async () => {
    const rows: Row[] = [
      [0, null],
      [1, 9],
      [2, 10],
      [3, 19],
      [4, 20],
    ];
    expect(await cut(rows, { from: 10, to: 20 })).toEqual([[['c2', 'c3'], 20, 20]]);
    expect(await cut([[0, null]], { from: 0, to: 20 })).toEqual([[[], 20, 20]]);
  });

  it('has the charges in the order of their payments, then of their ids', async () => {
    const rows: Row[] = [
      [1, 30, 'c'],
      [2, 30, 'b'],
      [3, 30, 'd'],
      [4, 20, 'z'],
    ];
    expect(await cut(rows, { to: 60 })).toEqual([[['z', 'b', 'c', 'd'], 60, 60]]);
  });

  it('ends a slice when it has read its size, and keeps what is paid later', async () => {
    const rows: Row[] = [
      [1, 2],
      [5, 12],
      [10, 11],
      [11, 13],
      [20, 21],
    ];
    expect(await cut(rows, { to: 30, size: 3 })).toEqual([
      [['c1'], 10, 5],
      [['c10', 'c5', 'c11', 'c20'], 30, 30],
    ]);
    expect(await cut(rows, { to: 30, size: 2 })).toEqual([
      [['c1'], 5, 5],
      [[], 11, 5],
      [['c10', 'c5', 'c11', 'c20'], 30, 30],
    ]);
  });

  it('counts the charges created before its beginning to the first slice', async () => {
    const rows: Row[] = [
      [5, 11],
      [10, 12],
      [13, 14],
      [15, 16],
    ];
    expect(await cut(rows, { from: 10, to: 30, size: 2 })).toEqual([
      [['c5', 'c10'], 13, 13],
      [['c13', 'c15'], 30, 30],
    ]);
  });

  it('ends a slice with the first charge that was created an hour after its beginning', async () => {
    const rows: Row[] = [
      [60, 61],
      [90, 91],
    ];
    expect(await cut(rows)).toEqual([
      [[], 60, 60],
      [['c60', 'c90'], 120, 150],
      [[], 150, 150],
    ]);
  });

  it('begins the later charges at the oldest one that is paid later', async () => {
    const rows: Row[] = [
      [50, 125],
      [55, 59],
      [58, 70],
    ];
    expect(await cut(rows)).toEqual([
      [['c55'], 60, 50],
      [['c58'], 120, 50],
      [['c50'], 150, 150],
    ]);
  });

  it('reads no slice beyond the end when charges were created after it', async () => {
    const rows: Row[] = [
      [1, 2],
      [200, 201],
    ];
    expect(await cut(rows, { to: 60 })).toEqual([[['c1'], 60, 200]]);
  });
});

describe('a peekable list', () => {
  it('keeps the first value that does not satisfy the test', async () => {
    async function* numbers() {
      for (const n of [1, 2, 3]) yield await Promise.resolve(n);
    }
    const list = new Peekable(numbers());
    const taken: number[][] = [];
    for (const limit of [2, 2, 9, 9]) {
      const part: number[] = [];
      for await (const n of list.while((one) => one < limit)) part.push(n);
      taken.push(part);
    }
    expect(taken).toEqual([[1], [], [2, 3], []]);
  });

  it('closes its source, also one that has nothing to release', async () => {
    let closed = 0;
    const next = () => Promise.resolve({ done: true as const, value: undefined });
    const release = () => {
      closed += 1;
      return next();
    };
    await new Peekable({ [Symbol.asyncIterator]: () => ({ next, return: release }) }).close();
    await new Peekable({ [Symbol.asyncIterator]: () => ({ next }) }).close();
    expect(closed).toBe(1);
  });
});
