import { createHash, randomBytes } from 'node:crypto';

import { freePorts, isFree } from './ports.js';

const preferredApiPort = 3000;
const preferredSandboxPort = 4010;

/** An API key that was generated for this run. The API gets only its hash. */
interface GeneratedKey {
  readonly name: string;
  readonly role: 'checkout' | 'ops';
  readonly secret: string;
}

interface ProviderKeys {
  readonly PROVIDER_SECRET_KEY: string;
  readonly PROVIDER_PUBLIC_KEY: string;
  readonly PROVIDER_WEBHOOK_SECRET: string;
}

/** The settings of one stack. */
export interface StackSettings {
  readonly apiHost: string;
  readonly apiPort: number;
  /** Undefined when the provider is not the sandbox. */
  readonly sandboxPort: number | undefined;
  readonly providerBaseUrl: string;
  readonly providerKeys: ProviderKeys;
  readonly apiKeys: string;
  /** Empty when `API_KEYS` is set. */
  readonly generatedKeys: readonly GeneratedKey[];
  /** Generated unless it is set: then signed links are valid only until the stack stops. */
  readonly urlSigningKey: string;
  /** Names of the provider's keys that were generated for the sandbox. */
  readonly generatedProviderKeys: readonly (keyof ProviderKeys)[];
  /** Whether a port was chosen here, so that other ports can be tried when another process takes it first. */
  readonly portsAreChosen: boolean;
}

/**
 * Chooses what `env` does not set: free ports, and keys for the stack's own sandbox.
 * @throws {Error} with every setting that is wrong or missing.
 */
export async function chooseSettings(env: NodeJS.ProcessEnv): Promise<StackSettings> {
  const problems: string[] = [];
  const apiPort = await choosePort('PORT', env, preferredApiPort, problems);
  const given = env['PROVIDER_BASE_URL'] ?? '';
  const sandboxPort = given === '' ? await choosePort('SANDBOX_PORT', env, preferredSandboxPort, problems) : undefined;

  const generated = generateProviderKeys();
  const providerKeys = { ...generated };
  const unset: (keyof ProviderKeys)[] = [];
  for (const name of Object.keys(generated) as (keyof ProviderKeys)[]) {
    const value = env[name] ?? '';
    if (value !== '') providerKeys[name] = value;
    else if (given === '') unset.push(name);
    else problems.push(`${name} is needed when PROVIDER_BASE_URL is set: keys are generated only for the sandbox`);
  }
  if (problems.length > 0)
    throw new Error(`Wrong settings:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);

  const apiKeys = env['API_KEYS'] ?? '';
  const generatedKeys = apiKeys === '' ? [generateKey('till', 'checkout'), generateKey('operator', 'ops')] : [];
  return {
    apiHost: isUnset(env['HOST']) ? '127.0.0.1' : env['HOST'],
    apiPort,
    sandboxPort,
    providerBaseUrl: sandboxPort === undefined ? given : `http://127.0.0.1:${sandboxPort}`,
    providerKeys,
    apiKeys: apiKeys === '' ? generatedKeys.map(configured).join(',') : apiKeys,
    generatedKeys,
    urlSigningKey: isUnset(env['URL_SIGNING_KEY']) ? randomBytes(32).toString('base64url') : env['URL_SIGNING_KEY'],
    generatedProviderKeys: unset,
    portsAreChosen: isUnset(env['PORT']) || (given === '' && isUnset(env['SANDBOX_PORT'])),
  };
}

/** A port that is set must be free. Otherwise the preferred port is used if it is free, else any free one. */
async function choosePort(
  name: string,
  env: NodeJS.ProcessEnv,
  preferred: number,
  problems: string[],
): Promise<number> {
  const given = env[name];
  if (isUnset(given)) {
    if (await isFree(preferred)) return preferred;
    const [port = 0] = await freePorts(1);
    return port;
  }
  const port = Number(given);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) problems.push(`${name} must be a port from 1 to 65535`);
  else if (!(await isFree(port)))
    problems.push(`${name}=${port} is in use by another process: set another port, or unset it`);
  return port;
}

function isUnset(value: string | undefined): value is undefined | '' {
  return value === undefined || value === '';
}

function generateProviderKeys(): Record<keyof ProviderKeys, string> {
  return {
    PROVIDER_SECRET_KEY: `skey_test_${randomBytes(12).toString('hex')}`,
    PROVIDER_PUBLIC_KEY: `pkey_test_${randomBytes(12).toString('hex')}`,
    // The provider's webhook secrets are base64.
    PROVIDER_WEBHOOK_SECRET: randomBytes(32).toString('base64'),
  };
}

function generateKey(name: string, role: GeneratedKey['role']): GeneratedKey {
  return { name, role, secret: `${role}_${randomBytes(18).toString('base64url')}` };
}

function configured({ name, role, secret }: GeneratedKey): string {
  return `${name}:${role}:${createHash('sha256').update(secret).digest('hex')}`;
}
