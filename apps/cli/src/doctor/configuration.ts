import { DEFAULT_ACCOUNT } from '@tillflow/domain';
import {
  apiKeys,
  describeMistake,
  FileMistakesError,
  isLiveKey,
  isProviderPlain,
  isPublished,
  openKeysFile,
  publishedSecrets,
  usesTls,
} from '@tillflow/temporal';
import type { ProviderSettings } from '../settings.js';
import type { Check, Finding } from './finding.js';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Checks the settings without any request. With a live key, an unsafe setting that API and worker refuse is a finding.
 * Every other unsafe setting is a warning, because a sandbox on this machine needs none of them.
 */
export function checkConfiguration(
  settings: ProviderSettings,
  environment: Environment,
  accounts: readonly string[] | null = [DEFAULT_ACCOUNT],
): Check {
  const { PROVIDER_BASE_URL: provider, PROVIDER_SECRET_KEY: key } = settings;
  const isRefused = key !== undefined && isLiveKey(key);
  // Requests to a sandbox on this machine do not cross a network.
  const isSandbox = !isRefused && provider !== undefined && isLoopback(new URL(provider).hostname);
  const refused = [...(isSandbox ? [] : providerPlain(settings)), ...secretsPublished(environment)];
  const started = [
    ...databasePublished(environment),
    ...trafficReadable(settings),
    ...unsigned(settings),
    ...open(settings),
  ];
  const warnings = isRefused ? started : [...refused, ...started];
  const findings = [...(isRefused ? refused : []), ...keysFileWrong(environment, isRefused, accounts)];
  const count = findings.length + warnings.length;
  const seen = count === 0 ? 'nothing is open, unsigned or unencrypted' : `unsafe settings: ${count}`;
  return { area: 'configuration', findings, warnings, seen };
}

function providerPlain(settings: ProviderSettings): Finding[] {
  if (!isProviderPlain(settings)) return [];
  return [
    {
      code: 'provider_over_http',
      what: 'PROVIDER_BASE_URL is http',
      means:
        'Others on the network can read the secret key and change the answers of the provider. With a live key, API and worker do not start.',
      remedy: 'Use the https address of the provider.',
    },
  ];
}

function secretsPublished(environment: Environment): Finding[] {
  const settings = publishedSecrets(environment);
  if (settings.length === 0) return [];
  return [
    {
      code: 'secrets_published',
      what: `docker-compose.yml publishes the value of ${settings.join(', ')}`,
      means: 'Everyone can act as a till, sign webhooks or read links. With a live key, API and worker do not start.',
      remedy: 'Create your own secrets. See docs/operations.md, "A key leaked".',
    },
  ];
}

function keysFileWrong(environment: Environment, isLive: boolean, accounts: readonly string[] | null): Finding[] {
  const { KEYS_FILE: path = '', API_KEYS: own = '' } = environment;
  if (path === '' || accounts === null) return [];
  try {
    openKeysFile(path, () => ({ accounts, others: apiKeys.safeParse(own).data ?? [], isLive }));
    return [];
  } catch (error) {
    if (!(error instanceof FileMistakesError)) throw error;
    return [
      {
        code: 'keys_file_wrong',
        what: `KEYS_FILE is wrong: ${error.mistakes.map(describeMistake).join('; ')}`,
        means: 'A running API keeps the last good keys. An API that starts now ends with exit code 2.',
        remedy: 'Correct the lines. A running API reads the file when it changes.',
      },
    ];
  }
}

function databasePublished(environment: Environment): Finding[] {
  if (!isPublished('POSTGRES_PASSWORD', environment)) return [];
  return [
    {
      code: 'secrets_published',
      what: 'docker-compose.yml publishes the value of POSTGRES_PASSWORD',
      means: 'Every container that reaches the database can read and change what Temporal stores.',
      remedy: 'Set POSTGRES_PASSWORD before the first start. After that, change it in PostgreSQL, too.',
    },
  ];
}

/** Connections and data that others can read. */
function trafficReadable(settings: ProviderSettings): Finding[] {
  const findings: Finding[] = [];
  const { TEMPORAL_ADDRESS: temporal, PUBLIC_URL: api } = settings;
  if (!usesTls(settings) && !isLoopback(temporal.slice(0, temporal.lastIndexOf(':')))) {
    findings.push({
      code: 'temporal_plaintext',
      what: `the connection to Temporal at ${temporal} is not encrypted`,
      means: 'Others on the network can read checkouts, and start, change or end them.',
      remedy:
        'Set TEMPORAL_TLS=true and the TLS settings that the server needs, or use a private network for the connection.',
    });
  }
  if (api?.startsWith('http:') === true && !isLoopback(new URL(api).hostname)) {
    findings.push({
      code: 'api_over_http',
      what: `PUBLIC_URL is ${api}`,
      means: 'Others on the network can read the keys of tills, webhooks and signed links.',
      remedy: 'Put a proxy with TLS in front of the API, and set PUBLIC_URL to its https address.',
    });
  }
  if (settings.PAYLOAD_KEYS === undefined) {
    findings.push({
      code: 'payloads_unencrypted',
      what: 'PAYLOAD_KEYS is not set',
      means: "Everyone who can read Temporal's database or UI can read every checkout.",
      remedy: 'Set PAYLOAD_KEYS for API, worker and tillflow. See docs/encryption.md.',
    });
  }
  return findings;
}

function unsigned({ PROVIDER_WEBHOOK_SECRET: secrets }: ProviderSettings): Finding[] {
  if (secrets?.[0] !== 'off') return [];
  return [
    {
      code: 'webhooks_unsigned',
      what: 'PROVIDER_WEBHOOK_SECRET is off',
      means:
        'Everyone can send webhooks. They cannot make a checkout paid, but each one costs a request to the provider.',
      remedy:
        'If the provider signs webhooks, set the secret. Otherwise let only the addresses of the provider reach /webhooks/provider.',
    },
  ];
}

/** What callers without a key can reach. */
function open(settings: ProviderSettings): Finding[] {
  const findings: Finding[] = [];
  if (settings.DOCS_OPEN) {
    findings.push({
      code: 'docs_open',
      what: '/docs and /openapi.json are open',
      means: 'Everyone who reaches the API can read its description. It contains no data of the shop.',
      remedy: 'Set DOCS_OPEN=false for the API unless callers need them.',
    });
  }
  if (settings.METRICS_OPEN) {
    findings.push({
      code: 'metrics_open',
      what: 'METRICS_OPEN is true',
      means: 'Everyone who reaches the API can read turnover, failures and versions at /metrics.',
      remedy: 'Set METRICS_OPEN=false and give Prometheus a key with the role ops.',
    });
  }
  const { WORKER_HOST: host, WORKER_HEALTH_PORT, WORKER_SDK_METRICS_PORT } = settings;
  const workerPorts = Object.entries({ WORKER_HEALTH_PORT, WORKER_SDK_METRICS_PORT }).filter(([, port]) => port > 0);
  if (workerPorts.length > 0 && isOpenTo(host)) {
    findings.push({
      code: 'worker_ports_open',
      what: `workers answer at ${host} (WORKER_HOST): ${workerPorts.map(([name, port]) => `${name} ${port}`).join(', ')}`,
      means:
        'Everyone who reaches the machine can read the health and metrics of its worker. They contain no ids and no secrets.',
      remedy: 'Unset WORKER_HOST, or let only Prometheus and the orchestrator reach the ports.',
    });
  }
  const ports = (['TEMPORAL_BIND_ADDRESS', 'UI_BIND_ADDRESS', 'SANDBOX_BIND_ADDRESS'] as const).filter((name) =>
    isOpenTo(settings[name]),
  );
  if (ports.length > 0) {
    findings.push({
      code: 'ports_published',
      what: `docker compose publishes more than the API to other machines: ${ports.join(', ')}`,
      means:
        'These ports require no key. Everyone who reaches one can read, start and end every checkout, or mark charges.',
      remedy: 'Unset them, and use a tunnel to reach the ports.',
    });
  }
  return findings;
}

function isOpenTo(address: string | undefined): boolean {
  return address !== undefined && !isLoopback(address);
}

function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(host);
}
