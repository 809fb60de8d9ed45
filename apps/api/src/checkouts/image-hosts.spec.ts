import { describe, expect, it } from 'vitest';
import { ImageHosts, isImageHost } from './image-hosts.js';

describe('the default hosts of QR images', () => {
  it.each([
    ['https://api.provider.example', 'https://api.provider.example/qr.svg'],
    ['https://api.provider.example', 'https://cdn.provider.example/qr.svg'],
    ['https://api.provider.example', 'https://a.b.provider.example/qr.svg'],
    ['https://api.provider.example', 'https://provider.example/qr.svg'],
    ['https://api.provider.example', 'https://images.api.provider.example:8443/qr.svg'],
    ['https://API.Provider.example', 'https://CDN.PROVIDER.EXAMPLE/qr.svg'],
    ['https://provider.example', 'https://cdn.provider.example/qr.svg'],
    ['https://provider.co.th', 'https://cdn.provider.co.th/qr.svg'],
    ['https://api.provider.co.th', 'https://cdn.provider.co.th/qr.svg'],
    ['http://127.0.0.1:4010', 'http://127.0.0.1:4011/qr.svg'],
    ['http://sandbox:4010', 'http://sandbox:4010/qr.svg'],
    ['http://sandbox:4010', 'https://sandbox/qr.svg'],
  ])('of %s include that of %s', (provider, address) => {
    expect(new ImageHosts(provider, undefined).allows(address)).toBe(true);
  });

  it.each([
    ['https://api.provider.example', 'http://api.provider.example/qr.svg'],
    ['https://api.provider.example', 'https://example/qr.svg'],
    ['https://api.provider.example', 'https://other.example/qr.svg'],
    ['https://api.provider.example', 'https://evilprovider.example/qr.svg'],
    ['https://api.provider.example', 'https://api.provider.example.evil.example/qr.svg'],
    ['https://api.provider.example', 'https://api.provider.example@evil.example/qr.svg'],
    ['https://api.provider.example', 'https://evil.example\\@api.provider.example/qr.svg'],
    ['https://api.provider.example', 'https://169.254.169.254/latest/meta-data'],
    ['https://api.provider.example', 'https://[::1]/'],
    ['https://api.provider.example', 'file:///etc/passwd'],
    ['https://api.provider.example', 'data:image/png;base64,AA'],
    ['https://api.provider.example', '//api.provider.example/qr.svg'],
    ['https://api.provider.example', ''],
    ['https://provider.example', 'https://other.example/qr.svg'],
    ['https://provider.co.th', 'https://other.co.th/qr.svg'],
    ['http://127.0.0.1:4010', 'http://localhost:4010/qr.svg'],
    ['http://127.0.0.1:4010', 'http://1.0.0.1/qr.svg'],
    ['http://10.0.0.1', 'http://evil.0.0.1.example/qr.svg'],
    ['http://[::1]:4010', 'http://[::2]:4010/qr.svg'],
    ['http://sandbox:4010', 'http://api.other:4010/qr.svg'],
  ])('of %s do not include that of %s', (provider, address) => {
    expect(new ImageHosts(provider, undefined).allows(address)).toBe(false);
  });
});

describe('listed hosts', () => {
  const hosts = new ImageHosts('https://api.provider.example', ['cdn.example', 'images.example:8443', '[2001:db8::1]']);

  it.each([
    ['https://cdn.example/a.svg', true],
    ['https://cdn.example:444/a.svg', true],
    ['https://images.example:8443/a.svg', true],
    ['https://[2001:db8::1]/a.svg', true],
    ['https://images.example/a.svg', false],
    ['https://a.cdn.example/a.svg', false],
    ['https://api.provider.example/a.svg', false],
    ['http://cdn.example/a.svg', false],
  ])('replace those of the provider: %s is allowed: %s', (address, isAllowed) => {
    expect(hosts.allows(address)).toBe(isAllowed);
  });

  it('with the default port equal those without a port', () => {
    expect(new ImageHosts('https://a.example', ['cdn.example:443']).allows('https://cdn.example/a.svg')).toBe(true);
    expect(new ImageHosts('http://a.example', ['cdn.example:443']).allows('http://cdn.example/a.svg')).toBe(false);
  });

  it.each(['cdn.example', 'cdn.example:8443', '127.0.0.1:1', '[::1]:80', 'sandbox'])('can be %s', (text) => {
    expect(isImageHost(text)).toBe(true);
  });

  it.each(['', 'https://cdn.example', 'cdn.example/', 'a@b', '*.example', 'a:99999', 'a b', '-a', 'a:'])(
    'cannot be "%s"',
    (text) => {
      expect(isImageHost(text)).toBe(false);
    },
  );
});
