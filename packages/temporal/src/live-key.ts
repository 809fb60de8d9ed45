type Environment = Readonly<Record<string, string | undefined>>;

type Plain = { readonly PROVIDER_BASE_URL?: string | undefined };

/** Source: assumption "Keys": a key of the test mode has `test_` after its first underscore. */
const TEST_MODE = /^[sp]key_test_/;

/** Each value that docker-compose.yml has for a secret, API keys as their hashes: everyone can read them there. */
const PUBLISHED: ReadonlySet<string> = new Set([
  'skey_test_local',
  'pkey_test_local',
  'b25seSBmb3IgdGhlIHNhbmRib3ggb24gdGhpcyBtYWNoaW5l',
  '5b69b73d18562cc49ae37220bc3e847b4b8a5878080788c7cf3101a1cccc1c16',
  '1d93d8aa6bb02cfaf47c6b57d9c45c7092ab3ae2752bd3549c71afeae9879485',
  'published-in-docker-compose.yml-so-it-protects-nothing',
  'temporal',
]);

/** Settings that hold secrets of Tillflow's own programs; each may be a list, an entry may have a name before it. */
const SECRETS = [
  'API_KEYS',
  'URL_SIGNING_KEY',
  'PROVIDER_PUBLIC_KEY',
  'PROVIDER_WEBHOOK_SECRET',
  'PAYLOAD_KEYS',
  'TEMPORAL_API_KEY',
] as const;

/** Whether real money moves with this key: what is not marked as a test key may be live. */
export function isLiveKey(key: string): boolean {
  return !TEST_MODE.test(key);
}

/** Whether a secret of the setting stands in docker-compose.yml. */
export function isPublished(setting: string, environment: Environment): boolean {
  const value = environment[setting] ?? '';
  return value.split(',').some((entry) => {
    const secret = entry.slice(entry.lastIndexOf(':') + 1).trim();
    return PUBLISHED.has(secret) || PUBLISHED.has(secret.toLowerCase());
  });
}

/** The settings of Tillflow's programs whose secrets stand in docker-compose.yml. */
export function publishedSecrets(environment: Environment): string[] {
  return SECRETS.filter((setting) => isPublished(setting, environment));
}

/** Whether requests to the provider, and the key in them, are readable on the way. */
export function isProviderPlain({ PROVIDER_BASE_URL: url = '' }: Plain): boolean {
  return /^http:/i.test(url);
}

/**
 * Why no program starts with these settings: with a live key, the settings that are good for a sandbox would let others
 * read the key, change answers about money, or act as a till.
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
