import { describe, expect, it } from 'vitest';
import { providerSettings } from '../settings.js';
import { checkConfiguration } from './configuration.js';

const SAFE = {
  PROVIDER_BASE_URL: 'https://api.provider.example',
  PROVIDER_SECRET_KEY: 'skey_5w0ab1c2d3e4f5g6h7i',
  PROVIDER_WEBHOOK_SECRET: 'b2Ygb3VyIG93bg==',
  PUBLIC_URL: 'https://pay.shop.example',
  PAYLOAD_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
  TEMPORAL_ADDRESS: 'temporal.shop.example:7233',
  TEMPORAL_TLS: 'true',
  DOCS_OPEN: 'false',
};
/** One of the published values of docker-compose.yml. */
const PUBLISHED_KEYS = 'operator:ops:1d93d8aa6bb02cfaf47c6b57d9c45c7092ab3ae2752bd3549c71afeae9879485';

function examine(changed: Readonly<Record<string, string | undefined>>) {
  const environment = { ...SAFE, ...changed };
  const { findings, warnings = [], seen } = checkConfiguration(providerSettings(environment), environment);
  return { findings: findings.map(({ code }) => code), warnings: warnings.map(({ code }) => code), seen };
}

describe('the configuration check of tillflow doctor', () => {
  it('finds nothing when everything is closed and encrypted', () => {
    expect(examine({})).toMatchObject({ findings: [], warnings: [] });
    expect(examine({ TEMPORAL_TLS: undefined, TEMPORAL_ADDRESS: '127.0.0.1:7233' }).warnings).toEqual([]);
    expect(examine({ TEMPORAL_TLS: undefined, TEMPORAL_TLS_SERVER_NAME: 'temporal' }).warnings).toEqual([]);
  });

  it.each([
    ['provider_over_http', { PROVIDER_BASE_URL: 'http://api.provider.example' }],
    ['secrets_published', { API_KEYS: PUBLISHED_KEYS }],
  ])('reports %s as a finding with a live key, and as a warning with a test key', (code, changed) => {
    expect(examine(changed)).toMatchObject({ findings: [code], warnings: [] });
    expect(examine({ ...changed, PROVIDER_SECRET_KEY: 'skey_test_1' })).toMatchObject({
      findings: [],
      warnings: [code],
    });
  });

  it.each([
    ['webhooks_unsigned', { PROVIDER_WEBHOOK_SECRET: 'off' }],
    ['payloads_unencrypted', { PAYLOAD_KEYS: undefined }],
    ['temporal_plaintext', { TEMPORAL_TLS: undefined }],
    ['temporal_plaintext', { TEMPORAL_TLS: undefined, TEMPORAL_ADDRESS: '10.0.0.7:7233' }],
    ['api_over_http', { PUBLIC_URL: 'http://pay.shop.example' }],
    ['docs_open', { DOCS_OPEN: undefined }],
    ['metrics_open', { METRICS_OPEN: 'true' }],
    ['worker_ports_open', { WORKER_HOST: '0.0.0.0', WORKER_HEALTH_PORT: '9090' }],
    ['ports_published', { TEMPORAL_BIND_ADDRESS: '0.0.0.0' }],
    ['ports_published', { UI_BIND_ADDRESS: '192.168.1.5' }],
    ['ports_published', { SANDBOX_BIND_ADDRESS: '::' }],
    ['secrets_published', { POSTGRES_PASSWORD: 'temporal' }],
  ])('reports %s as a warning with a live and with a test key', (code, changed) => {
    for (const PROVIDER_SECRET_KEY of [SAFE.PROVIDER_SECRET_KEY, 'skey_test_1']) {
      expect(examine({ ...changed, PROVIDER_SECRET_KEY })).toMatchObject({ findings: [], warnings: [code] });
    }
  });

  it('accepts http for a sandbox on this machine', () => {
    const local = { PROVIDER_BASE_URL: 'http://127.0.0.1:4010', PROVIDER_SECRET_KEY: 'skey_test_1' };
    expect(examine(local)).toMatchObject({ findings: [], warnings: [] });
    const live = { ...local, PROVIDER_SECRET_KEY: SAFE.PROVIDER_SECRET_KEY };
    expect(examine(live).findings).toEqual(['provider_over_http']);
  });

  it('shows no secret', () => {
    const environment = { ...SAFE, API_KEYS: PUBLISHED_KEYS, POSTGRES_PASSWORD: 'temporal' };
    const text = JSON.stringify(checkConfiguration(providerSettings(environment), environment));
    expect(text).toContain('API_KEYS');
    expect(text).not.toContain('1d93d8aa');
  });
});
