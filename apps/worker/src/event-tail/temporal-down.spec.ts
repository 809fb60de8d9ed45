import { ServiceError } from '@temporalio/client';
import { expect, it } from 'vitest';
import { isTemporalDown } from './temporal-down.js';

const grpc = (code: number): Error => Object.assign(new Error('no'), { code, details: 'no', metadata: {} });

it.each([
  ['cancelled', 1],
  ['unknown', 2],
  ['too late', 4],
  ['not permitted', 7],
  ['exhausted', 8],
  ['unavailable', 14],
  ['not authenticated', 16],
])('a server that answers everyone with %s is down', (_, code) => {
  expect(isTemporalDown(grpc(code))).toBe(true);
  expect(isTemporalDown(new ServiceError('no', { cause: grpc(code) }))).toBe(true);
});

it.each([
  ['invalid, such as one signal too many for a workflow', 3],
  ['not found', 5],
  ['not possible in this state', 9],
])('a request that is %s does not make it one', (_, code) => {
  expect(isTemporalDown(grpc(code))).toBe(false);
  expect(isTemporalDown(new ServiceError('no', { cause: grpc(code) }))).toBe(false);
});

it('a call that could not be made is one, and a bug is not', () => {
  expect(isTemporalDown(new ServiceError('no', { cause: new Error('the channel was closed') }))).toBe(true);
  expect(isTemporalDown(new TypeError('undefined is not a function'))).toBe(false);
});
