import { describe, expect, it } from 'vitest';
import { eventNetworks, refuseEndpoint } from './networks.js';

const NONE = eventNetworks.parse('');
const SHOP = eventNetworks.parse('10.20.0.0/16, fd00:20::/32,169.254.0.0/16');

describe('the networks of events', () => {
  it.each(['93.184.216.34', '8.8.8.8', '2606:4700::1111', '::ffff:8.8.8.8'])('contain the public address %s', (ip) => {
    expect(NONE.refuse(ip, false)).toBeNull();
    expect(NONE.refuse(ip, true)).toContain('http is permitted only in EVENT_ENDPOINT_NETWORKS');
  });

  it.each([
    '127.0.0.1',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    'fd00::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
  ])('do not contain %s unless it is configured', (ip) => {
    expect(NONE.refuse(ip, false)).toContain('is not a public address');
  });

  it.each(['10.20.3.4', 'fd00:20::7', '::ffff:10.20.3.4'])('contain the configured address %s, also for http', (ip) => {
    expect(SHOP.refuse(ip, true)).toBeNull();
    expect(SHOP.refuse('10.21.0.1', false)).toContain('is not a public address');
  });

  it.each(['169.254.169.254', 'fe80::1', '::ffff:169.254.169.254', '::ffff:a9fe:a9fe'])(
    'never contain the link-local address %s, not even when it is configured',
    (ip) => {
      expect(SHOP.refuse(ip, false)).toContain('is link-local');
    },
  );

  it.each(['0.0.0.0/0', '10.0.0.0/33', 'orders.example', '10.0.0'])('are not configured by %s', (text) => {
    expect(eventNetworks.safeParse(text).success).toBe(false);
  });
});

describe('the address of an endpoint', () => {
  it.each([
    ['file:///etc/passwd', 'must be an http or https address'],
    ['ftp://10.20.0.1/', 'must be an http or https address'],
    ['orders', 'must be an http or https address'],
    ['https://user:secret@10.20.0.1/', 'must not contain a user name or a password'],
    ['http://93.184.216.34/', 'http is permitted only in EVENT_ENDPOINT_NETWORKS'],
    ['https://10.21.0.1/', 'is not a public address'],
    ['https://[::ffff:169.254.169.254]/', 'is link-local'],
    [`https://10.20.0.1/${'x'.repeat(2_048)}`, 'at most 2048 characters'],
  ])('is refused: %s', async (url, why) => {
    expect(await refuseEndpoint(url, SHOP)).toContain(why);
  });

  it.each(['https://93.184.216.34/events', 'http://10.20.0.1:8080/events', 'https://[fd00:20::1]/'])(
    'is accepted: %s',
    async (url) => {
      expect(await refuseEndpoint(url, SHOP)).toBeNull();
    },
  );

  it('is accepted when its name is not looked up in time: the worker checks each connection', async () => {
    const never = (): Promise<never> => new Promise(() => undefined);
    expect(await refuseEndpoint('https://dead.example/', SHOP, never, 1)).toBeNull();
  });
});
