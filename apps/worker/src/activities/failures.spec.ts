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

describe('toOutcome of a mutating call', () => {
  it.each([
    ['a reset after sending', new ConnectionError('reset', details('unknown'))],
    ['a timeout', new TimeoutError('late', details('unknown'))],
    ['a 500', new ServerError('down', details('unknown'))],
    ['an abort in flight', new RequestAbortedError('aborted', details('unknown'))],
    ['a rejection after an unknown outcome', new InvalidRequestError('no', details('unknown'))],
  ])('is unknown after %s', (_, error) => {
    expect(toOutcome(error)).toMatchObject({ kind: 'unknown', code: 'a_code' });
  });

  it.each([
    ['no connection', new ConnectionError('refused', details('not_sent', true))],
    ['a send window that has passed', new TimeoutError('late', details('not_sent', true))],
    ['an abort before sending, as a stopping worker makes it', new RequestAbortedError('aborted', details('not_sent'))],
    ['the rate limit', new RateLimitError('slow down', details('rejected', true))],
  ])('is rejected and retryable after %s', (_, error) => {
    expect(toOutcome(error)).toMatchObject({ kind: 'rejected', retryable: true });
  });

  it.each([
    ['a refusal', new InvalidRequestError('no', details('rejected'))],
    ['a parameter that cannot be sent', new InvalidRequestError('no', details('not_sent'))],
    ['a missing key', new AuthenticationError('no', details('not_sent'))],
  ])('is rejected and not retryable after %s', (_, error) => {
    expect(toOutcome(error)).toMatchObject({ kind: 'rejected', retryable: false });
  });

  it('throws a bug, which the workflow treats as an unknown outcome', () => {
    expect(() => toOutcome(new TypeError('a bug'))).toThrow(TypeError);
  });
});

it('toReadFailure is not retryable after a definite rejection, and retryable after any other failure', () => {
  expect(toReadFailure(new InvalidRequestError('no', details('rejected')))).toMatchObject({
    nonRetryable: true,
    type: 'a_code',
  });
  expect(toReadFailure(new ServerError('down', details('unknown', true)))).toMatchObject({ nonRetryable: false });
});
