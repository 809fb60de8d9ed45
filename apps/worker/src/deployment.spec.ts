import { describe, expect, it } from 'vitest';
import { decide, type KnownBuild } from './deployment.js';

const build = (buildId: string, cameAt: number, wasCurrentAt?: number): KnownBuild => ({
  deploymentVersion: { buildId },
  createTime: { seconds: cameAt, nanos: 0 },
  lastCurrentTime: wasCurrentAt === undefined ? null : { seconds: wasCurrentAt, nanos: 0 },
});

describe('a build', () => {
  it.each([
    ['that Temporal does not know yet waits', [build('a', 1, 1)], 'a', 'unknown'],
    ['that is the first takes over', [build('b', 1)], null, 'take_over'],
    ['that is new takes over', [build('a', 1, 1), build('b', 2)], 'a', 'take_over'],
    ['that is current stays so', [build('a', 1, 1), build('b', 2, 2)], 'b', 'is_current'],
    ['that was replaced takes nothing back', [build('b', 1, 1), build('c', 2, 2)], 'c', 'stay_back'],
    ['that was rolled back does not come again by itself', [build('a', 1, 3), build('b', 2, 2)], 'a', 'stay_back'],
    ['that was taken out of service stays out', [build('b', 1, 1)], null, 'stay_back'],
    ['that came before the current one stays back', [build('b', 1), build('c', 2, 2)], 'c', 'stay_back'],
    ['whose predecessor is forgotten takes over', [build('b', 2)], 'a', 'take_over'],
  ] as const)('%s', (_, builds, current, decision) => {
    expect(decide(builds, current, 'b')).toBe(decision);
  });
});
