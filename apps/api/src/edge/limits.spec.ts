import { describe, expect, it } from 'vitest';
import { addressKey, trustProxy } from './client-address.js';
import { Bucket } from './limits.js';

describe('a limit', () => {
  it('counts each caller separately, and starts again each second', () => {
    const bucket = new Bucket(2);
    expect([1, 2, 3].map(() => bucket.take('a', 0))).toEqual([true, true, false]);
    expect(bucket.take('b', 999)).toBe(true);
    expect(bucket.take('a', 1_000)).toBe(true);
  });

  it('allows as many requests as before after it has uncounted one', () => {
    const bucket = new Bucket(2);
    for (let n = 0; n < 10; n += 1) {
      expect(bucket.take('a', 0)).toBe(true);
      bucket.giveBack('a', 0);
    }
    bucket.giveBack('a', 1_000);
    expect([1, 2, 3].map(() => bucket.take('a', 1_000))).toEqual([true, true, false]);
  });

  it('counts at most 10,000 callers separately: the others share one count', () => {
    const bucket = new Bucket(5);
    for (let n = 0; n < 10_000; n += 1) bucket.take(`caller ${n}`, 0);
    const others = Array.from({ length: 10 }, (_, n) => bucket.take(`other ${n}`, 0));
    expect(others.filter(Boolean)).toHaveLength(5);
    expect(bucket.take('caller 7', 0)).toBe(true);
  });
});

describe('an address', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['192.0.2.1:5678', '192.0.2.1'],
    ['2001:db8:0:7::1', '2001:db8:0:7::/64'],
    ['2001:0db8:0000:0007:ffff:ffff:ffff:ffff', '2001:db8:0:7::/64'],
    ['[2001:db8:0:7::1]:5678', '2001:db8:0:7::/64'],
    ['2001:db8:0:7:1::192.0.2.1', '2001:db8:0:7::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['unknown', 'unknown'],
    ['x'.repeat(10_000), 'unknown'],
  ])('$0 counts as $1', (address, key) => {
    expect(addressKey(address)).toBe(key);
  });
});

describe('TRUST_PROXY', () => {
  it('trusts the addresses and networks that it names', () => {
    const isTrusted = trustProxy.parse('10.0.0.0/8, 192.0.2.1, 2001:db8::/32, fd00::1');
    for (const address of ['10.9.9.9', '::ffff:10.9.9.9', '192.0.2.1', '2001:db8::7', 'fd00::1']) {
      expect({ address, trusted: isTrusted(address, 3) }).toEqual({ address, trusted: true });
    }
    for (const address of ['11.0.0.1', '192.0.2.2', '2001:db9::7', 'fd00::2', 'unknown', '', undefined]) {
      expect({ address, trusted: isTrusted(address, 0) }).toEqual({ address, trusted: false });
    }
  });

  it('trusts the number of hops that it names', () => {
    expect([0, 1, 2].map((hop) => trustProxy.parse('2')('192.0.2.1', hop))).toEqual([true, true, false]);
  });

  it.each([
    '0.0.0.0/0',
    '10.0.0.0/8, ::/0',
    'true',
    '*',
    'loopback',
    '0',
    '17',
    '-1',
    '1.5',
    '10.0.0.0/33',
    '2001:db8::/129',
    '10.0.0',
    ' , ',
    'a,10.0.0.1',
  ])('is refused when it reads "%s"', (text) => {
    expect(trustProxy.safeParse(text).success).toBe(false);
  });
});
