import {
  AuthenticationError,
  ConnectionError,
  InvalidRequestError,
  RateLimitError,
  RequestAbortedError,
  ServerError,
  TimeoutError,
  type Outcome,
} from '@tillflow/payments-client';
import { describe, expect, it } from 'vitest';
import { toOutcome, toReadFailure } from './failures.js';

const details = (outcome: Outcome, retryable = false) => ({ code: 'a_code', outcome, retryable });

describe('a mutating call that failed', () => {
  it.each([
    ['a reset after sending', new ConnectionError('reset', details('unknown'))],
    ['a timeout', new TimeoutError('late', details('unknown'))],
    ['a 500', new ServerError('down', details('unknown'))],
    ['an abort in flight', new RequestAbortedError('aborted', details('unknown'))],
    ['a refusal after a doubt', new InvalidRequestError('no', details('unknown'))],
  ])('by %s is unknown', (_, error) => {
    expect(toOutcome(error)).toMatchObject({ kind: 'unknown', code: 'a_code' });
  });

  it.each([
    ['no connection', new ConnectionError('refused', details('not_sent', true))],
    ['a send window that has passed', new TimeoutError('late', details('not_sent', true))],
    ['an abort before sending, as a stopping worker makes it', new RequestAbortedError('aborted', details('not_sent'))],
    ['the rate limit', new RateLimitError('slow down', details('rejected', true))],
  ])('by %s had no effect and may be made again', (_, error) => {
    expect(toOutcome(error)).toMatchObject({ kind: 'rejected', retryable: true });
  });

  it.each([
    ['a refusal', new InvalidRequestError('no', details('rejected'))],
    ['a parameter that cannot be sent', new InvalidRequestError('no', details('not_sent'))],
    ['a missing key', new AuthenticationError('no', details('not_sent'))],
  ])('by %s had no effect and would fail again', (_, error) => {
    expect(toOutcome(error)).toMatchObject({ kind: 'rejected', retryable: false });
  });

  it('by a mistake of ours is no outcome at all: it is thrown, and the workflow takes it as unknown', () => {
    expect(() => toOutcome(new TypeError('a bug'))).toThrow(TypeError);
  });
});

it('a read that the provider refused for good is not tried again by Temporal, one that may succeed is', () => {
  expect(toReadFailure(new InvalidRequestError('no', details('rejected')))).toMatchObject({
    nonRetryable: true,
    type: 'a_code',
  });
  expect(toReadFailure(new ServerError('down', details('unknown', true)))).toMatchObject({ nonRetryable: false });
});
