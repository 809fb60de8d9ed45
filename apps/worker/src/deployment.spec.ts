import { describe, expect, it } from 'vitest';
import { decide, type KnownBuild } from './deployment.js';

const build = (buildId: string, cameAt: number, wasCurrentAt?: number): KnownBuild => ({
  deploymentVersion: { buildId },
  createTime: { seconds: cameAt, nanos: 0 },
  lastCurrentTime: wasCurrentAt === undefined ? null : { seconds: wasCurrentAt, nanos: 0 },
});

describe('a worker that starts', () => {
  it.each([
    ['waits for a build that Temporal does not know', [build('a', 1, 1)], 'a', 'unknown'],
    ['takes over with the first build', [build('b', 1)], null, 'take_over'],
    ['takes over with a new build', [build('a', 1, 1), build('b', 2)], 'a', 'take_over'],
    ['keeps the current build', [build('a', 1, 1), build('b', 2, 2)], 'b', 'is_current'],
    ['does not take over with a replaced build', [build('b', 1, 1), build('c', 2, 2)], 'c', 'stay_back'],
    ['does not take over with a build that was rolled back', [build('a', 1, 3), build('b', 2, 2)], 'a', 'stay_back'],
    ['does not take over with a build that was taken out of service', [build('b', 1, 1)], null, 'stay_back'],
    [
      'does not take over with a build that polled before the current one',
      [build('b', 1), build('c', 2, 2)],
      'c',
      'stay_back',
    ],
    ['takes over when Temporal has forgotten the current build', [build('b', 2)], 'a', 'take_over'],
  ] as const)('%s', (_, builds, current, decision) => {
    expect(decide(builds, current, 'b')).toBe(decision);
  });
});
