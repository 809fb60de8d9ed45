import { createHash, randomBytes } from 'node:crypto';

import { freePorts, isFree } from './ports.js';

const preferredApiPort = 3000;
const preferredSandboxPort = 4010;

/** A key made up for this run; only its hash reaches the API. */
interface MadeUpKey {
  readonly name: string;
  readonly role: 'checkout' | 'ops';
  readonly secret: string;
}

interface ProviderKeys {
  readonly PROVIDER_SECRET_KEY: string;
  readonly PROVIDER_PUBLIC_KEY: string;
  readonly PROVIDER_WEBHOOK_SECRET: string;
}

/** What one stack runs with. */
export interface StackSettings {
  readonly apiHost: string;
  readonly apiPort: number;
  /** Undefined when the provider is not the sandbox. */
  readonly sandboxPort: number | undefined;
  readonly providerBaseUrl: string;
  readonly providerKeys: ProviderKeys;
  readonly apiKeys: string;
  /** Empty when `API_KEYS` is set: then their owner knows them. */
  readonly madeUpKeys: readonly MadeUpKey[];
  /** Made up unless it is set: links end with the stack. */
  readonly urlSigningKey: string;
  /** Names of the provider's keys that were made up for the sandbox. */
  readonly madeUpProviderKeys: readonly (keyof ProviderKeys)[];
  /** Whether another process may have taken a port between choosing it and using it. */
  readonly portsAreChosen: boolean;
}

/**
 * Chooses what is not set: ports that are free, keys for the own sandbox.
 * @throws {Error} naming every setting that is wrong or missing.
 */
export async function chooseSettings(env: NodeJS.ProcessEnv): Promise<StackSettings> {
  const problems: string[] = [];
  const apiPort = await choosePort('PORT', env, preferredApiPort, problems);
  const given = env['PROVIDER_BASE_URL'] ?? '';
  const sandboxPort = given === '' ? await choosePort('SANDBOX_PORT', env, preferredSandboxPort, problems) : undefined;

  const made = madeUpProviderKeys();
  const providerKeys = { ...made };
  const madeUp: (keyof ProviderKeys)[] = [];
  for (const name of Object.keys(made) as (keyof ProviderKeys)[]) {
    const value = env[name] ?? '';
    if (value !== '') providerKeys[name] = value;
    else if (given === '') madeUp.push(name);
    else problems.push(`${name} is needed when PROVIDER_BASE_URL is set: keys are made up for the sandbox only`);
  }
  if (problems.length > 0)
    throw new Error(`Wrong settings:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);

  const apiKeys = env['API_KEYS'] ?? '';
  const madeUpKeys = apiKeys === '' ? [madeUpKey('till', 'checkout'), madeUpKey('operator', 'ops')] : [];
  return {
    apiHost: isUnset(env['HOST']) ? '127.0.0.1' : env['HOST'],
    apiPort,
    sandboxPort,
    providerBaseUrl: sandboxPort === undefined ? given : `http://127.0.0.1:${sandboxPort}`,
    providerKeys,
    apiKeys: apiKeys === '' ? madeUpKeys.map(configured).join(',') : apiKeys,
    madeUpKeys,
    urlSigningKey: isUnset(env['URL_SIGNING_KEY']) ? randomBytes(32).toString('base64url') : env['URL_SIGNING_KEY'],
    madeUpProviderKeys: madeUp,
    portsAreChosen: isUnset(env['PORT']) || (given === '' && isUnset(env['SANDBOX_PORT'])),
  };
}

/** What is set must be free; what is not is the usual port, or any free one. */
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
    problems.push(`${name}=${port} is in use by another process: set another port or unset it`);
  return port;
}

function isUnset(value: string | undefined): value is undefined | '' {
  return value === undefined || value === '';
}

function madeUpProviderKeys(): Record<keyof ProviderKeys, string> {
  return {
    PROVIDER_SECRET_KEY: `skey_test_${randomBytes(12).toString('hex')}`,
    PROVIDER_PUBLIC_KEY: `pkey_test_${randomBytes(12).toString('hex')}`,
    // The provider hands its secrets out in base64.
    PROVIDER_WEBHOOK_SECRET: randomBytes(32).toString('base64'),
  };
}

function madeUpKey(name: string, role: MadeUpKey['role']): MadeUpKey {
  return { name, role, secret: `${role}_${randomBytes(18).toString('base64url')}` };
}

function configured({ name, role, secret }: MadeUpKey): string {
  return `${name}:${role}:${createHash('sha256').update(secret).digest('hex')}`;
}
