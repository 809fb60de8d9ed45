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
    // If another program has the port, it is occupied, too.
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => {
      servers.push(server);
      resolve(true);
    });
  });
}

describe('the ports of a stack', () => {
  it('are all different', async () => {
    const ports = await freePorts(20);
    expect(new Set(ports).size).toBe(20);
  });

  it('are free until a server listens on them', async () => {
    const [port = 0] = await freePorts(1);
    await expect(isFree(port)).resolves.toBe(true);
    await occupy(port);
    await expect(isFree(port)).resolves.toBe(false);
  });

  it('are other free ports when 3000 and 4010 are taken', async () => {
    await Promise.all([occupy(3000), occupy(4010)]);
    const { apiPort, sandboxPort, portsAreChosen } = await chooseSettings({});
    expect([apiPort, sandboxPort]).not.toContain(3000);
    expect([apiPort, sandboxPort]).not.toContain(4010);
    expect(portsAreChosen).toBe(true);
  });

  it('are refused, all in one error, when a set port is taken or not a port', async () => {
    const [port = 0] = await freePorts(1);
    await occupy(port);
    const choice = chooseSettings({ PORT: String(port), SANDBOX_PORT: 'http' });
    await expect(choice).rejects.toThrow(`PORT=${port} is in use`);
    await expect(choice).rejects.toThrow('SANDBOX_PORT must be a port');
  });
});

describe('the keys of a stack', () => {
  it('are generated when none is set, and the API gets only their hashes', async () => {
    const { apiKeys, generatedKeys, generatedProviderKeys, providerKeys, urlSigningKey } = await chooseSettings({});
    expect(generatedKeys.map(({ role }) => role)).toEqual(['checkout', 'ops']);
    for (const { name, role, secret } of generatedKeys) {
      expect(apiKeys).toContain(`${name}:${role}:${createHash('sha256').update(secret).digest('hex')}`);
      expect(apiKeys).not.toContain(secret);
    }
    expect(generatedProviderKeys).toEqual(['PROVIDER_SECRET_KEY', 'PROVIDER_PUBLIC_KEY', 'PROVIDER_WEBHOOK_SECRET']);
    expect(providerKeys.PROVIDER_SECRET_KEY).toMatch(/^skey_test_/);
    expect(urlSigningKey.length).toBeGreaterThanOrEqual(32);
    expect((await chooseSettings({})).urlSigningKey).not.toBe(urlSigningKey);
  });

  it('are not changed when they are set', async () => {
    const given = {
      API_KEYS: `shop:ops:${'0'.repeat(64)}`,
      URL_SIGNING_KEY: 'a secret of the shop that is long enough',
      PROVIDER_SECRET_KEY: 'skey_test_mine',
    };
    const settings = await chooseSettings(given);
    expect(settings.apiKeys).toBe(given.API_KEYS);
    expect(settings.urlSigningKey).toBe(given.URL_SIGNING_KEY);
    expect(settings.generatedKeys).toEqual([]);
    expect(settings.providerKeys.PROVIDER_SECRET_KEY).toBe('skey_test_mine');
    expect(settings.generatedProviderKeys).not.toContain('PROVIDER_SECRET_KEY');
  });

  it('are never generated for a provider that is not the sandbox', async () => {
    const choice = chooseSettings({
      PROVIDER_BASE_URL: 'https://provider.example',
      PROVIDER_SECRET_KEY: 'skey_test_mine',
    });
    await expect(choice).rejects.toThrow(/PROVIDER_PUBLIC_KEY is needed.*PROVIDER_WEBHOOK_SECRET is needed/s);
    await expect(choice).rejects.not.toThrow('PROVIDER_SECRET_KEY is needed');
  });
});
