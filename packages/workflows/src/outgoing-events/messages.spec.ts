import { expect, it } from 'vitest';
import { DEFAULT_ENDPOINT_POLICY, MAX_ENDPOINTS, originOf } from './messages.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

it('an endpoint has nine pauses, five days, and probes of at most a minute, as the contract of events says', () => {
  const hours = [2, 5, 10, 14, 20, 24].map((count) => count * HOUR);
  expect(DEFAULT_ENDPOINT_POLICY).toEqual({
    retryDelaysMs: [5 * SECOND, 5 * MINUTE, 30 * MINUTE, ...hours],
    disableAfterMs: 5 * 24 * HOUR,
    probeMs: 5 * SECOND,
    maxProbeMs: MINUTE,
    renewAfterMs: 24 * HOUR,
  });
  expect(MAX_ENDPOINTS).toBe(100);
});

it.each([
  ['https://orders.example/hook/a-secret?token=b#c', 'https://orders.example'],
  ['http://10.20.0.7:8080?token=b', 'http://10.20.0.7:8080'],
  ['https://[fd00:20::1]:8443/', 'https://[fd00:20::1]:8443'],
])('people see of the address %s only its origin', (url, origin) => {
  expect(originOf(url)).toBe(origin);
});
