import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  accountOf,
  checkoutId,
  checkoutWorkflowId,
  installationQueue,
  isReference,
  parseCheckoutId,
  parseCheckoutWorkflowId,
  queueOfAccount,
  slipReference,
} from './ids.js';

const reference = fc.stringMatching(/^[A-Za-z0-9._-]{1,64}$/);
const account = fc.stringMatching(/^[a-z0-9-]{1,32}$/);

describe('the id of a checkout', () => {
  it('can be converted to account and reference and back', () => {
    fc.assert(
      fc.property(account, reference, (accountName, name) => {
        const key = { account: accountName, reference: name };
        expect(parseCheckoutId(checkoutId(key))).toEqual(key);
        expect(parseCheckoutWorkflowId(checkoutWorkflowId(key))).toEqual(key);
      }),
    );
  });

  it('differs when account or reference differ', () => {
    fc.assert(
      fc.property(account, reference, account, reference, (a, x, b, y) => {
        const same = a === b && x === y;
        const first = { account: a, reference: x };
        const second = { account: b, reference: y };
        expect(checkoutId(first) === checkoutId(second)).toBe(same);
        expect(checkoutWorkflowId(first) === checkoutWorkflowId(second)).toBe(same);
      }),
    );
  });

  it.each(['', 'a'.repeat(65), 'a/b', 'ü', 'a b', 'a\n'])('refuses the reference "%s"', (name) => {
    expect(isReference(name)).toBe(false);
    const error = new RangeError(`Not a reference: ${name}`);
    expect(() => checkoutId({ account: 'default', reference: name })).toThrow(error);
  });

  it.each(['', 'a'.repeat(33), 'DEFAULT', 'a_b', 'a/b', 'a b'])('refuses the account "%s"', (name) => {
    expect(() => checkoutId({ account: name, reference: 'a' })).toThrow(new RangeError(`Not an account: ${name}`));
  });

  it('is chk_<account>_<reference>, and its workflow is checkout/<account>/<reference>', () => {
    const key = { account: 'default', reference: 'order_1' };
    expect(checkoutId(key)).toBe('chk_default_order_1');
    expect(checkoutWorkflowId(key)).toBe('checkout/default/order_1');
  });

  it.each([
    '',
    'chk_',
    'chk_default',
    'chk_default_',
    'x_default_a',
    'chk_DEFAULT_a',
    'chk_default_a/b',
    'a_chk_default_a',
  ])('is not read out of "%s"', (text) => {
    expect(parseCheckoutId(text)).toBeNull();
  });
});

it.each([
  '',
  'checkout',
  'checkout/default',
  'checkout/default/',
  'checkout//a',
  'checkout/DEFAULT/a',
  `checkout/${'a'.repeat(33)}/a`,
  `checkout/default/${'a'.repeat(65)}`,
  'checkout/default/a/b',
  'checkout/default/a b',
  'a/checkout/default/a',
  'reconcile/default/a',
])('parseCheckoutWorkflowId is null for %j', (id) => {
  expect(parseCheckoutWorkflowId(id)).toBeNull();
});

describe('the task queue of an account', () => {
  it('names the account, and that of default is the queue of the installation', () => {
    expect(queueOfAccount('tillflow', 'default')).toBe('tillflow');
    const queue = queueOfAccount('stage', 'siam');
    expect([queue, accountOf(queue), installationQueue(queue)]).toEqual(['stage/account/siam', 'siam', 'stage']);
    expect([accountOf('tillflow'), installationQueue('tillflow')]).toEqual(['default', 'tillflow']);
  });
});

describe('the reference of a slip', () => {
  it.each([
    ['ab12cd', '~AB12CD'],
    [' ab 12\tCD ', '~AB12CD'],
    // Digits and letters of full width, as some keyboards write them.
    ['ＡＢ１２', '~AB12'],
  ])('%j is searched as %s', (text, expected) => {
    expect(slipReference(text)).toBe(expected);
  });
});
