type Environment = Readonly<Record<string, string | undefined>>;

type Plain = { readonly PROVIDER_BASE_URL?: string | undefined };

/** Source: assumption "Keys": a key of the test mode has `test_` after its first underscore. */
const TEST_MODE = /^[sp]key_test_/;

/** Every secret in docker-compose.yml, which anyone can read. API keys are there as hashes. */
const PUBLISHED: ReadonlySet<string> = new Set([
  'skey_test_local',
  'pkey_test_local',
  'b25seSBmb3IgdGhlIHNhbmRib3ggb24gdGhpcyBtYWNoaW5l',
  '5b69b73d18562cc49ae37220bc3e847b4b8a5878080788c7cf3101a1cccc1c16',
  '1d93d8aa6bb02cfaf47c6b57d9c45c7092ab3ae2752bd3549c71afeae9879485',
  'published-in-docker-compose.yml-so-it-protects-nothing',
  'temporal',
  'local-grafana-password',
  'local-ops-key',
]);

/** The settings of Tillflow's programs that contain secrets. Each may be a list, and an entry may start with a name. */
const SECRETS = [
  'API_KEYS',
  'URL_SIGNING_KEY',
  'PROVIDER_PUBLIC_KEY',
  'PROVIDER_WEBHOOK_SECRET',
  'PAYLOAD_KEYS',
  'TEMPORAL_API_KEY',
] as const;

/** Whether real money may move with this key. A key that is not marked as a test key may be live. */
export function isLiveKey(key: string): boolean {
  return !TEST_MODE.test(key);
}

/** Whether docker-compose.yml contains a secret of this setting. */
export function isPublished(setting: string, environment: Environment): boolean {
  const value = environment[setting] ?? '';
  return value.split(',').some((entry) => {
    return isPublishedSecret(entry.slice(entry.lastIndexOf(':') + 1).trim());
  });
}

/** Whether docker-compose.yml contains this secret, or the hash of this key. */
export function isPublishedSecret(secret: string): boolean {
  return PUBLISHED.has(secret) || PUBLISHED.has(secret.toLowerCase());
}

/** The settings of Tillflow's programs whose secrets docker-compose.yml contains. */
export function publishedSecrets(environment: Environment): string[] {
  return SECRETS.filter((setting) => isPublished(setting, environment));
}

/** Whether the network can read requests to the provider, and the key in them. */
export function isProviderPlain({ PROVIDER_BASE_URL: url = '' }: Plain): boolean {
  return /^http:/i.test(url);
}

/**
 * Why no program starts with these settings. With a live key, settings that suit a sandbox would let others read the
 * key, change the provider's answers, or act as a till.
 * @returns problems for a SettingsError; none with a test key or without a key.
 */
export function unsafeWithLiveKey(environment: Environment): string[] {
  const key = environment['PROVIDER_SECRET_KEY'] ?? '';
  if (key === '' || !isLiveKey(key)) return [];
  return [
    ...(isProviderPlain(environment)
      ? ['PROVIDER_BASE_URL: must be https with a live key; with http, the network can read the key and change answers']
      : []),
    ...publishedSecrets(environment).map(
      (setting) =>
        `${setting}: with a live key, must not have a value that docker-compose.yml publishes; make your own`,
    ),
  ];
}
