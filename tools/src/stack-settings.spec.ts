import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';

import { freePorts, isFree } from './ports.js';
import { chooseSettings } from './stack-settings.js';

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function occupy(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    // Another program may have it already, which is as good.
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => {
      servers.push(server);
      resolve(true);
    });
  });
}

describe('ports', () => {
  it('are different ones', async () => {
    const ports = await freePorts(20);
    expect(new Set(ports).size).toBe(20);
  });

  it('are free until somebody listens', async () => {
    const [port = 0] = await freePorts(1);
    await expect(isFree(port)).resolves.toBe(true);
    await occupy(port);
    await expect(isFree(port)).resolves.toBe(false);
  });

  it('are any free ones when the usual ones are taken', async () => {
    await Promise.all([occupy(3000), occupy(4010)]);
    const { apiPort, sandboxPort, portsAreChosen } = await chooseSettings({});
    expect([apiPort, sandboxPort]).not.toContain(3000);
    expect([apiPort, sandboxPort]).not.toContain(4010);
    expect(portsAreChosen).toBe(true);
  });

  it('are named when they are set and taken, or no ports', async () => {
    const [port = 0] = await freePorts(1);
    await occupy(port);
    const choice = chooseSettings({ PORT: String(port), SANDBOX_PORT: 'http' });
    await expect(choice).rejects.toThrow(`PORT=${port} is in use`);
    await expect(choice).rejects.toThrow('SANDBOX_PORT must be a port');
  });
});

describe('keys', () => {
  it('are made up where none is set, and reach the API as hashes only', async () => {
    const { apiKeys, madeUpKeys, madeUpProviderKeys, providerKeys, urlSigningKey } = await chooseSettings({});
    expect(madeUpKeys.map(({ role }) => role)).toEqual(['checkout', 'ops']);
    for (const { name, role, secret } of madeUpKeys) {
      expect(apiKeys).toContain(`${name}:${role}:${createHash('sha256').update(secret).digest('hex')}`);
      expect(apiKeys).not.toContain(secret);
    }
    expect(madeUpProviderKeys).toEqual(['PROVIDER_SECRET_KEY', 'PROVIDER_PUBLIC_KEY', 'PROVIDER_WEBHOOK_SECRET']);
    expect(providerKeys.PROVIDER_SECRET_KEY).toMatch(/^skey_test_/);
    expect(urlSigningKey.length).toBeGreaterThanOrEqual(32);
    expect((await chooseSettings({})).urlSigningKey).not.toBe(urlSigningKey);
  });

  it('are taken as they are where they are set', async () => {
    const given = {
      API_KEYS: `shop:ops:${'0'.repeat(64)}`,
      URL_SIGNING_KEY: 'a secret of the shop that is long enough',
      PROVIDER_SECRET_KEY: 'skey_test_mine',
    };
    const settings = await chooseSettings(given);
    expect(settings.apiKeys).toBe(given.API_KEYS);
    expect(settings.urlSigningKey).toBe(given.URL_SIGNING_KEY);
    expect(settings.madeUpKeys).toEqual([]);
    expect(settings.providerKeys.PROVIDER_SECRET_KEY).toBe('skey_test_mine');
    expect(settings.madeUpProviderKeys).not.toContain('PROVIDER_SECRET_KEY');
  });

  it('are never made up for a provider that is not the sandbox', async () => {
    const choice = chooseSettings({
      PROVIDER_BASE_URL: 'https://provider.example',
      PROVIDER_SECRET_KEY: 'skey_test_mine',
    });
    await expect(choice).rejects.toThrow(/PROVIDER_PUBLIC_KEY is needed.*PROVIDER_WEBHOOK_SECRET is needed/s);
    await expect(choice).rejects.not.toThrow('PROVIDER_SECRET_KEY is needed');
  });
});
