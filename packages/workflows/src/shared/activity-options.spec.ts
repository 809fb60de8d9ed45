import {
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  RetryState,
  ServerFailure,
  TimeoutFailure,
  TimeoutType,
  type TemporalFailure,
} from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { toLookup, toOutcome } from './activity-options.js';

const ofActivity = (cause: TemporalFailure): ActivityFailure =>
  new ActivityFailure('it failed', 'createCharge', 'id', RetryState.MAXIMUM_ATTEMPTS_REACHED, 'worker', cause);

const FAILURES: readonly (readonly [string, TemporalFailure, string])[] = [
  ['a timeout', new TimeoutFailure('late', null, TimeoutType.HEARTBEAT), 'worker_silent'],
  ['a failure with a type', ApplicationFailure.nonRetryable('no', 'provider_unreachable'), 'provider_unreachable'],
  ['a cancellation', new CancelledFailure('cancelled'), 'activity_failed'],
  ['a failure of the server', new ServerFailure('internal', true), 'activity_failed'],
];

describe.each(FAILURES)('%s', (_name, failure, code) => {
  it.each([
    ['a local activity', failure],
    ['a regular activity', ofActivity(failure)],
  ])('of %s leaves a change unknown and a read unseen', async (_kind, rejected) => {
    expect(await toOutcome(Promise.reject(rejected))).toMatchObject({ kind: 'unknown', code });
    expect(await toLookup(Promise.reject(rejected))).toMatchObject({ code, status: null });
  });
});

it('an error that is no failure of an activity is not hidden', async () => {
  const defect = new TypeError('defect');
  await expect(toOutcome(Promise.reject(defect))).rejects.toBe(defect);
  await expect(toLookup(Promise.reject(defect))).rejects.toBe(defect);
});
