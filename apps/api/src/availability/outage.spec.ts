import { formatInstant, instant, parseInstant, plus, type Instant } from '@tillflow/domain';
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { describe, expect, it } from 'vitest';
import { providerFailingSince } from '../checkouts/event-tail-watch.js';
import { Outage, type ProviderState } from './outage.js';

const START = instant(Date.parse('2026-11-21T05:00:00.000Z'));
const HOUR_MS = 3_600_000;

/** The result of a probe that starts at this time, and how long it takes, in milliseconds. */
type Provider = (at: Instant) => { readonly isOk: boolean; readonly tookMs: number };

/** Uniform in [0, 1), the same for the same seed. */
function randomOf(seed: number): () => number {
  const generator = xoroshiro128plus(seed);
  return () => uniformFloat64(generator);
}

const healthy: Provider = () => ({ isOk: true, tookMs: 40 });
const refusing: Provider = () => ({ isOk: false, tookMs: 5 });
const hanging: Provider = () => ({ isOk: false, tookMs: 2_000 });

/** What happens besides the probes. */
type Around = {
  /** How long the API does not probe after this probe, because none of its callers asks; in milliseconds. */
  readonly idleMs?: () => number;
  /** Since when the event tail fails, as it shows at a time. */
  readonly failingSince?: (now: Instant) => string | null;
};

/** Probes as the API does, on a virtual clock, until `untilMs` after the start. @returns each change of the status */
function probe(
  provider: Provider,
  untilMs: number,
  outage = new Outage(),
  { idleMs = () => 0, failingSince = () => null }: Around = {},
): { readonly [At in number]: string } {
  const changes: Record<number, string> = {};
  let status = 'unknown';
  for (let at = START; at < plus(START, untilMs);) {
    const { isOk, tookMs } = provider(at);
    const end = plus(at, tookMs);
    const since = failingSince(end);
    outage.observe(end, isOk, since === null ? null : parseInstant(since));
    const state = outage.stateAt(end);
    if (state.status !== status) changes[end - START] = state.status;
    ({ status } = state);
    at = plus(at, Math.max(outage.pauseMs, tookMs) + idleMs());
  }
  return changes;
}

/** Healthy, but `during` it as the other provider. Milliseconds since the start. */
const brokenBetween =
  (from: number, to: number, broken: Provider): Provider =>
  (at) =>
    at - START >= from && at - START < to ? broken(at) : healthy(at);

describe('an outage of the provider', () => {
  it.each([
    ['refuses', refusing],
    ['hangs', hanging],
  ])('that %s shows within 15 s, and its end within 30 s, at whatever moment they come', (_, broken) => {
    for (let offset = 0; offset <= 3_000; offset += 50) {
      const from = 60_000 + offset;
      const to = from + 90_000;
      const changes = Object.entries(probe(brokenBetween(from, to, broken), 240_000));
      expect(changes.map(([, status]) => status)).toEqual(['ok', 'failing', 'ok']);
      const [, failedAt = 0, workedAt = 0] = changes.map(([at]) => Number(at));
      expect(failedAt - from).toBeLessThanOrEqual(15_000);
      expect(workedAt - to).toBeLessThanOrEqual(30_000);
    }
  });

  it('begins with its first failure, and ends with the first success after its last failure', () => {
    const outage = new Outage();
    probe(brokenBetween(60_000, 120_000, refusing), 100_000, outage);
    const seen = outage.stateAt(plus(START, 100_000));
    expect(seen).toEqual({ status: 'failing', since: plus(START, 60_005) });
    const after: ProviderState[] = [];
    for (let n = 0; n < 4; n += 1) {
      outage.observe(plus(START, 101_000 + n * 3_000), true);
      after.push(outage.stateAt(plus(START, 101_000 + n * 3_000)));
    }
    expect(after).toEqual([seen, seen, seen, { status: 'ok', since: plus(START, 101_000) }]);
  });

  it('does not show after a second in which every call fails', () => {
    expect(probe(brokenBetween(60_000, 61_000, refusing), 120_000)).toEqual({ 40: 'ok' });
  });
});

describe('an error rate of 2 %', () => {
  it('for an hour does not flip the status, in any of 200 hours', () => {
    for (let seed = 1; seed <= 200; seed += 1) {
      const random = randomOf(seed);
      let failures = 0;
      const changes = probe(() => {
        const isOk = random() >= 0.02;
        if (!isOk) failures += 1;
        return { isOk, tookMs: isOk || random() < 0.5 ? 40 : 2_000 };
      }, HOUR_MS);
      expect(failures).toBeGreaterThan(5);
      expect({ seed, seen: Object.values(changes) }).toEqual({ seed, seen: ['ok'] });
    }
  });

  it.each([
    ['failed hours ago and then lost its workers', { alwaysFails: true, stepAgeMs: HOUR_MS }],
    ['works, and fails when four tries of its pass fail', { alwaysFails: false, stepAgeMs: 0 }],
  ])('shows no outage after idle minutes, with an event tail that %s', (_, { alwaysFails, stepAgeMs }) => {
    const failing = { since: formatInstant(plus(START, -3 * HOUR_MS)), code: 'timeout', message: 'no answer' };
    let idleTimes = 0;
    for (let seed = 1; seed <= 200; seed += 1) {
      const random = randomOf(seed);
      const fails = (): boolean => random() < 0.02;
      const tailFails = (): boolean => alwaysFails || (fails() && fails() && fails() && fails());
      const changes = probe(() => ({ isOk: !fails(), tookMs: 40 }), HOUR_MS, new Outage(), {
        idleMs: () => {
          if (random() >= 0.05) return 0;
          idleTimes += 1;
          return 11_000 + Math.floor(random() * 120_000);
        },
        failingSince: (now) => providerFailingSince(tailFails() ? { failing } : {}, now - stepAgeMs, now),
      });
      const isFailing = Object.values(changes).includes('failing');
      expect({ seed, isFailing }).toEqual({ seed, isFailing: false });
    }
    expect(idleTimes).toBeGreaterThan(1_000);
  });
});

describe('the state of the provider', () => {
  it('is unknown before the first observation, and 10 s after the last one', () => {
    const outage = new Outage();
    expect(outage.stateAt(START)).toEqual({ status: 'unknown', since: null });
    outage.observe(START, true);
    expect(outage.stateAt(plus(START, 10_000))).toEqual({ status: 'ok', since: START });
    expect(outage.stateAt(plus(START, 10_001))).toEqual({ status: 'unknown', since: null });
  });

  it('after a pause without observations does not continue a row of failures from before', () => {
    const outage = new Outage();
    for (let second = 0; second < 4; second += 1) outage.observe(plus(START, second * 1_000), false);
    outage.observe(plus(START, 60_000), false);
    expect(outage.stateAt(plus(START, 60_000)).status).toBe('unknown');
  });

  it('is failing at the first failure when another source has seen the outage, but not after a success', () => {
    const before = plus(START, -300_000);
    const cold = new Outage();
    cold.observe(START, false, before);
    expect(cold.stateAt(START)).toEqual({ status: 'failing', since: before });
    const warm = new Outage();
    warm.observe(START, true);
    warm.observe(plus(START, 3_000), false, before);
    expect(warm.stateAt(plus(START, 3_000))).toEqual({ status: 'ok', since: START });
  });
});
