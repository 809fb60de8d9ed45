import { describe, expect, it } from 'vitest';
import { checkClocks, type Readings } from './clocks.js';

const NOW = 100_000;
const provider = (said: number, from = NOW, to = NOW) => ({ whose: 'the provider', from, to, said });
const temporal = (said: number) => ({ from: NOW, to: NOW, said });
const worker = (offset: number | null, seenAt = NOW) => ({
  identity: '7@till',
  temporal: offset,
  provider: null,
  seenAt,
});

function found(readings: Partial<Readings>): string[] {
  const all = { temporal: temporal(NOW), others: [], workers: [], ...readings };
  return checkClocks(all).findings.map(({ what }) => what);
}

describe('a clock that was read', () => {
  it('may be right while what it said lies between question and answer, or its seconds were cut off', () => {
    expect(found({ others: [provider(NOW + 9_000, NOW, NOW + 10_000)] })).toEqual([]);
    expect(found({ others: [provider(NOW - 3_900)] })).toEqual([]);
  });

  it('is off from 3 s on that nothing else explains', () => {
    expect(found({ others: [provider(NOW + 2_999)] })).toEqual([]);
    expect(found({ others: [provider(NOW + 3_000)] })).toEqual([
      "the clock of the provider is 3 s ahead of Temporal's",
    ]);
    expect(found({ others: [provider(NOW - 4_000)] })).toEqual(["the clock of the provider is 3 s behind Temporal's"]);
  });

  it("is compared with Temporal's, whatever this machine's shows", () => {
    const shifted = { temporal: temporal(NOW + 600_000), others: [provider(NOW + 600_000)] };
    expect(found(shifted)).toEqual(["the clock of this machine is 600 s behind Temporal's"]);
  });

  it("is compared with this machine's where Temporal's could not be read", () => {
    expect(found({ temporal: null, others: [provider(NOW + 9_000)] })).toEqual([
      "the clock of the provider is 9 s ahead of this machine's",
    ]);
  });
});

describe('the clock of a worker', () => {
  it('is off by what the worker said, wherever it runs', () => {
    expect(found({ workers: [worker(-600_000)] })).toEqual(["the clock of worker 7@till is 600 s behind Temporal's"]);
    expect(found({ workers: [worker(2_000), worker(null)] })).toEqual([]);
  });

  it('is not known any more when the worker said nothing for a minute', () => {
    expect(found({ workers: [worker(600_000, NOW - 61_000)] })).toEqual([]);
  });
});
