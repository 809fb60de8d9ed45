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

describe('a clock that the doctor reads', () => {
  it('is not reported when its time lies between request and reply, or differs only by the missing fraction of a second', () => {
    expect(found({ others: [provider(NOW + 9_000, NOW, NOW + 10_000)] })).toEqual([]);
    expect(found({ others: [provider(NOW - 3_900)] })).toEqual([]);
  });

  it('is reported from a difference of 3 s on', () => {
    expect(found({ others: [provider(NOW + 2_999)] })).toEqual([]);
    expect(found({ others: [provider(NOW + 3_000)] })).toEqual([
      "the clock of the provider is 3 s ahead of Temporal's",
    ]);
    expect(found({ others: [provider(NOW - 4_000)] })).toEqual(["the clock of the provider is 3 s behind Temporal's"]);
  });

  it("is compared with Temporal's clock, even when this machine's clock is wrong", () => {
    const shifted = { temporal: temporal(NOW + 600_000), others: [provider(NOW + 600_000)] };
    expect(found(shifted)).toEqual(["the clock of this machine is 600 s behind Temporal's"]);
  });

  it("is compared with this machine's clock when Temporal's could not be read", () => {
    expect(found({ temporal: null, others: [provider(NOW + 9_000)] })).toEqual([
      "the clock of the provider is 9 s ahead of this machine's",
    ]);
  });
});

describe('the clock of a worker that reported it', () => {
  it('is reported with the difference that the worker measured', () => {
    expect(found({ workers: [worker(-600_000)] })).toEqual(["the clock of worker 7@till is 600 s behind Temporal's"]);
    expect(found({ workers: [worker(2_000), worker(null)] })).toEqual([]);
  });

  it('is not reported when the worker has reported nothing for a minute', () => {
    expect(found({ workers: [worker(600_000, NOW - 61_000)] })).toEqual([]);
  });
});
