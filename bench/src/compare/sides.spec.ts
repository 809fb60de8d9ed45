import { describe, expect, it } from 'vitest';
import { voidableUntil, voidRule, instant } from '@tillflow/domain';
import { cutOffOf, offsetFor } from './sides.js';

const HOUR_MS = 3_600_000;
/** Longer than any run. */
const RUN_HOURS = 3;
const MIDNIGHT = Date.UTC(2026, 10, 22);

describe('the void cut-off of a run', () => {
  it('is ahead of every payment of the run, at whatever time of the day it begins', () => {
    for (let hour = 0; hour < 24; hour += 1) {
      const began = MIDNIGHT + hour * HOUR_MS;
      const rule = voidRule(offsetFor(began));
      const paidAt = [began, began + RUN_HOURS * HOUR_MS];
      expect(paidAt.map((at) => voidableUntil(instant(at), rule))).toEqual(paidAt.map(() => cutOffOf(began)));
    }
  });
});
