import { describe, expect, it } from 'vitest';
import type { EventTailMemo } from '@tillflow/workflows';
import { isAwake, providerFailingSince } from './event-tail-watch.js';

const AT = Date.parse('2026-03-10T09:00:00.000Z');
const pass = { at: '2026-03-10T09:00:00.000Z', watermark: '2026-03-10T08:59:00.000Z', interval_ms: 15_000 };

describe('the event tail', () => {
  it('is reliable for three of its intervals, at least 30 s', () => {
    expect(isAwake({ pass }, AT + 45_000, 25_000)).toBe(true);
    expect(isAwake({ pass }, AT + 45_001, 25_000)).toBe(false);
    expect(isAwake({ pass: { ...pass, interval_ms: 1_000 } }, AT + 30_000, 25_000)).toBe(true);
    expect(isAwake({ pass: { ...pass, interval_ms: 1_000 } }, AT + 30_001, 25_000)).toBe(false);
  });

  it('is not reliable when its last pass is in the future, because one of the clocks is wrong', () => {
    expect(isAwake({ pass }, AT - 45_000, 25_000)).toBe(true);
    expect(isAwake({ pass }, AT - 45_001, 25_000)).toBe(false);
  });

  it('is not reliable before its first pass, while its passes fail, or when it runs less often than a checkout polls', () => {
    expect(isAwake({}, AT, 25_000)).toBe(false);
    expect(isAwake({ pass, failing: { since: pass.at, code: 'timeout', message: 'm' } }, AT, 25_000)).toBe(false);
    expect(isAwake({ pass }, AT, 14_999)).toBe(false);
    expect(isAwake({ pass, failing: null }, AT, 15_000)).toBe(true);
  });

  it('blames the provider only for failures that the provider caused', () => {
    const failing = (code: string) => providerFailingSince({ failing: { since: pass.at, code, message: 'm' } }, AT, AT);
    const provider = ['timeout', 'connection_failed', 'authentication_failure', 'internal_error'];
    expect(provider.map(failing)).toEqual(provider.map(() => pass.at));
    const others = ['temporal_unavailable', 'activity_failed', 'pass_failed', 'not_authorized'];
    expect(others.map(failing)).toEqual([null, null, null, null]);
    expect(providerFailingSince({}, AT, AT)).toBeNull();
    expect(providerFailingSince({ pass, failing: null }, AT, AT)).toBeNull();
  });

  it('blames the provider only while its workers took a step a moment ago', () => {
    const failing = { since: '2026-03-10T06:00:00.000Z', code: 'timeout', message: 'm' };
    const sinceAt = (stepAt: number | null, memo: EventTailMemo = { failing }) =>
      providerFailingSince(memo, stepAt, AT);
    expect([sinceAt(AT), sinceAt(AT - 30_000)]).toEqual([failing.since, failing.since]);
    expect([sinceAt(null), sinceAt(AT - 30_001), sinceAt(AT + 30_001)]).toEqual([null, null, null]);
    expect(sinceAt(AT - 45_000, { pass, failing })).toBe(failing.since);
    expect(sinceAt(AT - 45_001, { pass, failing })).toBeNull();
  });
});
