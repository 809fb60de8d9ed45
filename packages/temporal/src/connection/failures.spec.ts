import { ServiceError } from '@temporalio/client';
import { describe, expect, it } from 'vitest';
import { isTemporalDown } from './failures.js';

const grpc = (code: number): Error => Object.assign(new Error('no'), { code, details: 'no', metadata: {} });

describe('isTemporalDown', () => {
  it.each([
    ['cancelled', 1],
    ['unknown', 2],
    ['too late', 4],
    ['not permitted', 7],
    ['exhausted', 8],
    ['unavailable', 14],
    ['not authenticated', 16],
  ])('counts Temporal as down when it answers %s', (_, code) => {
    expect(isTemporalDown(grpc(code))).toBe(true);
    expect(isTemporalDown(new ServiceError('no', { cause: grpc(code) }))).toBe(true);
  });

  it.each([
    ['invalid, such as one signal too many for a workflow', 3],
    ['not found', 5],
    ['not possible in this state', 9],
  ])('blames the request, not Temporal, when the request is %s', (_, code) => {
    expect(isTemporalDown(grpc(code))).toBe(false);
    expect(isTemporalDown(new ServiceError('no', { cause: grpc(code) }))).toBe(false);
  });

  it('counts Temporal as down when the call could not be made, and not after a bug', () => {
    expect(isTemporalDown(new ServiceError('no', { cause: new Error('the channel was closed') }))).toBe(true);
    expect(isTemporalDown(new TypeError('undefined is not a function'))).toBe(false);
  });
});
