import { PaymentsError } from '@tillflow/payments-client';
import { isLiveKey, isProviderPlain, isTemporalFailure, readTemporalClock, workerClocks } from '@tillflow/temporal';
import { command } from '../command.js';
import { checkClocks, readHttpClock, temporalNow, type NamedReading, type Readings } from '../doctor/clocks.js';
import { checkConfiguration } from '../doctor/configuration.js';
import type { Check, Finding } from '../doctor/finding.js';
import { checkKeys, isPublicKey, isSecretKey } from '../doctor/keys.js';
import { checkProvider, providerFinding } from '../doctor/provider.js';
import { checkTemporal } from '../doctor/temporal.js';
import { checkWebhooks } from '../doctor/webhooks.js';
import { checkWorkers } from '../doctor/workers.js';
import { EXIT, UnreachableError } from '../exit.js';
import { openProvider } from '../provider.js';
import { providerSettings, type ProviderSettings } from '../settings.js';
import { columns } from '../text.js';
import { withTemporal } from '../with-temporal.js';

const TEMPORAL_WITHIN_MS = 60_000;

/** What was looked at on one side, and the clocks that were read there. */
type Examined<Clocks> = { readonly checks: readonly Check[]; readonly clocks: Clocks };
type TemporalClocks = Pick<Readings, 'temporal' | 'workers'>;

export const doctor = command({
  name: 'doctor',
  synopsis: '',
  summary: 'Looks for what is wrong with keys, provider, webhooks, clocks, Temporal, workers and versions.',
  details: [
    'Reads the settings of the API and the worker: run it with theirs. Changes nothing; it sends the API webhooks that',
    'are about nothing, signed with PROVIDER_WEBHOOK_SECRET.',
    '',
    'Each finding says what it is, what it means, and what to do. A warning names an unsafe setting that everything',
    'starts with; it does not change the exit code. 3: Temporal cannot be reached.',
  ],
  takes: 0,
  options: {},
  async run({ environment }) {
    const settings = providerSettings(environment);
    const [provider, temporal] = await Promise.all([examineProvider(settings), examineTemporal(settings)]);
    const clocks = checkClocks({ ...temporal.clocks, others: provider.clocks });
    const checks = [
      checkKeys(settings),
      checkConfiguration(settings, environment),
      ...provider.checks,
      ...temporal.checks,
      clocks,
    ];
    const findings = checks.flatMap((check) => check.findings);
    const warnings = checks.flatMap((check) => check.warnings ?? []);
    const isUnreachable = findings.some(({ code }) => code === TEMPORAL_UNREACHABLE);
    return {
      exit: isUnreachable ? EXIT.unreachable : findings.length > 0 ? EXIT.finding : EXIT.ok,
      json: {
        ok: findings.length === 0,
        findings,
        warnings,
        checks: checks.map(({ area, seen, findings: found }) => ({
          area,
          seen,
          findings: found.map(({ code }) => code),
        })),
      },
      lines: describe(checks),
    };
  },
});

async function examineProvider(given: ProviderSettings): Promise<Examined<readonly NamedReading[]>> {
  const settings = withUsableKeys(given);
  const { PROVIDER_BASE_URL: baseUrl, PROVIDER_SECRET_KEY: secret } = settings;
  const checks: Check[] = [];
  const readings: (NamedReading | null)[] = [];
  // With a key of another kind every request would only be refused.
  const client = secret !== undefined && isSecretKey(secret) ? openProvider(settings) : null;
  if (client !== null && secret !== undefined && isLiveKey(secret) && isProviderPlain(settings)) {
    await client.close();
    return {
      checks: [{ area: 'provider', findings: [], seen: 'not asked: a live key must not go over http' }],
      clocks: [],
    };
  }
  if (baseUrl === undefined || client === null) return { checks: [notAsked(settings)], clocks: [] };
  try {
    const provider = await checkProvider(client, settings);
    checks.push(provider);
    readings.push(await readHttpClock('the provider', `${baseUrl.replace(/\/+$/, '')}/account`));
    const webhooks = await checkWebhooks(client, provider.account, settings);
    checks.push(webhooks);
    readings.push(webhooks.clock);
  } catch (error) {
    if (!(error instanceof PaymentsError)) throw error;
    checks.push({ area: 'provider', findings: [providerFinding(error, settings)], seen: 'it could not be asked' });
  } finally {
    await client.close();
  }
  return { checks, clocks: readings.filter((reading) => reading !== null) };
}

/** A public key of the wrong kind is found already, and the client would not take it. */
function withUsableKeys(settings: ProviderSettings): ProviderSettings {
  const { PROVIDER_PUBLIC_KEY: key } = settings;
  return { ...settings, PROVIDER_PUBLIC_KEY: key === undefined || isPublicKey(key) ? key : undefined };
}

function notAsked({ PROVIDER_BASE_URL, PROVIDER_SECRET_KEY }: ProviderSettings): Check {
  const unset = Object.entries({ PROVIDER_BASE_URL, PROVIDER_SECRET_KEY }).filter(([, value]) => value === undefined);
  const findings = unset.map(([name]) => ({
    code: 'setting_missing',
    what: `${name} is not set here`,
    means: 'The provider, its account and its webhooks were not looked at.',
    remedy: 'Run the doctor with the settings of the API and the worker.',
  }));
  return { area: 'provider', findings, seen: 'not asked' };
}

async function examineTemporal(settings: ProviderSettings): Promise<Examined<TemporalClocks>> {
  const { TEMPORAL_TASK_QUEUE: taskQueue, WORKER_BUILD_ID: build } = settings;
  try {
    return await withTemporal(settings, ({ temporal }) =>
      temporal.connection.withDeadline(Date.now() + TEMPORAL_WITHIN_MS, async () => {
        const clock = await readTemporalClock(temporal, taskQueue, 'tillflow doctor');
        const clocks = { temporal: clock, workers: await workerClocks(temporal, taskQueue) };
        const namespace = await checkTemporal(temporal, taskQueue);
        const workers = await checkWorkers(temporal, taskQueue, build, temporalNow(clock));
        return { checks: [namespace, workers], clocks };
      }),
    );
  } catch (error) {
    if (!(error instanceof UnreachableError) && !isTemporalFailure(error)) throw error;
    return { checks: [unreachable(error)], clocks: { temporal: null, workers: [] } };
  }
}

const TEMPORAL_UNREACHABLE = 'temporal_unreachable';

function unreachable(error: unknown): Check {
  const findings = [
    {
      code: TEMPORAL_UNREACHABLE,
      what: error instanceof Error ? error.message : String(error),
      means:
        'Nothing moves: the API answers 503, webhooks are refused and come again. What was promised is kept there.',
      remedy: 'Check TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and its TLS settings; docs/operations.md, Temporal is down.',
    },
  ];
  return { area: 'temporal', findings, seen: 'it could not be asked' };
}

function describe(checks: readonly Check[]): string[] {
  const findings = checks.flatMap((check) => check.findings);
  const warnings = checks.flatMap((check) => check.warnings ?? []);
  const end = findings.length === 0 ? 'Nothing is wrong.' : `${findings.length} found.`;
  return [
    ...columns(checks.map((check) => [stateOf(check), check.area, check.seen])),
    ...findings.flatMap((finding) => inFull(finding, '')),
    ...warnings.flatMap((warning) => inFull(warning, 'warning ')),
    '',
    end,
    ...(warnings.length === 0 ? [] : [`${warnings.length} ${warnings.length === 1 ? 'warning' : 'warnings'}.`]),
  ];
}

function stateOf({ findings, warnings = [] }: Check): string {
  if (findings.length > 0) return 'FOUND';
  return warnings.length > 0 ? 'warn' : 'ok';
}

function inFull({ code, what, means, remedy }: Finding, kind: string): string[] {
  return ['', `${kind}${code}: ${what}`, `  means  ${means}`, `  do     ${remedy}`];
}
