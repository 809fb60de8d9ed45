import { describe, expect, it } from 'vitest';
import { Router } from './router.js';

const router = new Router<string>()
  .add('GET', '/charges', 'list')
  .add('GET', '/charges/{id}', 'one')
  .add('GET', '/charges/schedules', 'schedules')
  .add('GET', '/charges/{id}/refunds/{refund_id}', 'refund')
  .add('GET', '/charges/schedules/search', 'search')
  .add('POST', '/charges/{id}/expire', 'expire');

describe('the router', () => {
  it.each([
    ['/charges', 'list', []],
    ['/charges/chrg_1', 'one', ['chrg_1']],
    ['/charges/schedules', 'schedules', []],
    ['/charges/schedules/search', 'search', []],
    ['/charges/schedules/refunds/r', 'refund', ['schedules', 'r']],
    ['/charges/a%2Fb', 'one', ['a/b']],
    ['/charges/%E0%B8%BF/refunds/x', 'refund', ['฿', 'x']],
  ])('takes %s to %s: a literal segment wins over a parameter', (path, target, params) => {
    expect(router.match('GET', path)).toMatchObject({ target, params });
  });

  it.each([
    '/',
    '',
    '/charges/',
    '//charges',
    '/charges/a/b',
    '/charges//refunds/x',
    '/charges/{id}/refunds/',
    '/CHARGES',
  ])('has no route for "%s"', (path) => {
    expect(router.match('GET', path)).toBeNull();
  });

  it('distinguishes methods and returns the template', () => {
    expect(router.match('POST', '/charges/c/expire')).toEqual({
      target: 'expire',
      template: '/charges/{id}/expire',
      params: ['c'],
    });
    expect(router.match('GET', '/charges/c/expire')).toBeNull();
    expect(router.match('PUT', '/charges/c')).toBeNull();
  });

  it('refuses malformed percent-encoding', () => {
    expect(() => router.match('GET', '/charges/%zz')).toThrow('percent-encoding');
  });
});
