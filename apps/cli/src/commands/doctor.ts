import { DEFAULT_ACCOUNT } from '@tillflow/domain';
import { PaymentsError } from '@tillflow/payments-client';
import {
  businessDayRule,
  isLiveKey,
  isProviderPlain,
  isTemporalFailure,
  readTemporalClock,
  workerClocks,
  type Environment,
} from '@tillflow/temporal';
import { environmentsOf } from '../accounts.js';
import { command, EXIT, UnreachableError } from '../command.js';
import { checkClocks, readHttpClock, temporalNow, type NamedReading, type Readings } from '../doctor/clocks.js';
import { checkConfiguration } from '../doctor/configuration.js';
import type { Check, Finding } from '../doctor/finding.js';
import { checkKeys, isPublicKey, isSecretKey } from '../doctor/keys.js';
import { checkProvider, providerFinding } from '../doctor/provider.js';
import { checkTemporal } from '../doctor/temporal.js';
import { checkWebhooks } from '../doctor/webhooks.js';
import { checkWorkers } from '../doctor/workers.js';
import { openProvider } from '../provider.js';
import { providerSettings, type ProviderSettings } from '../settings.js';
import { columns } from '../text.js';
import { withTemporal } from '../temporal.js';

const TEMPORAL_WITHIN_MS = 60_000;

/** The checks of the provider's side or of Temporal's side, and the clocks that were read there. */
type Examined<Clocks> = { readonly checks: readonly Check[]; readonly clocks: Clocks };
type TemporalClocks = Pick<Readings, 'temporal' | 'workers'>;

export const doctor = command({
  name: 'doctor',
  synopsis: '',
  summary: 'Checks keys, configuration, provider, webhooks, clocks, Temporal, workers and versions.',
  details: [
    'Run it with the settings of the API and the worker. It changes nothing. It sends test webhooks to the API, signed',
    'with PROVIDER_WEBHOOK_SECRET, which the API answers and ignores.',
    '',
    'Each finding says what is wrong, what follows from it, and what to do. A warning is an unsafe setting with which',
    'the programs still start; it does not change the exit code. Exit code 3: Temporal cannot be reached.',
  ],
  takes: 0,
  isForAll: true,
  options: {},
  async run({ environment, account: only }) {
    const { accounts, names, mistakes } = environmentsOf(environment, only);
    const examined = [...accounts].map(async ([account, own]) =>
      (await examine(own, names)).map((check) => (account === DEFAULT_ACCOUNT ? check : ofAccount(account, check))),
    );
    const checks = [...checkAccounts(environment, mistakes), ...(await Promise.all(examined)).flat()];
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

/** @param accounts the names that keys may have; null when they are not known */
async function examine(environment: Environment, accounts: readonly string[] | null): Promise<readonly Check[]> {
  const settings = providerSettings(environment);
  const [provider, temporal] = await Promise.all([examineProvider(settings), examineTemporal(settings)]);
  return [
    checkKeys(settings),
    checkConfiguration(settings, environment, accounts),
    ...provider.checks,
    ...temporal.checks,
    checkClocks({ ...temporal.clocks, others: provider.clocks }),
  ];
}

/** A check of a further account. */
function ofAccount(account: string, { area, findings, warnings = [], seen }: Check): Check {
  const named = (finding: Finding): Finding => ({ ...finding, what: `${account}: ${finding.what}` });
  return { area: `${account}: ${area}`, findings: findings.map(named), warnings: warnings.map(named), seen };
}

function checkAccounts({ ACCOUNTS_FILE: path = '' }: Environment, mistakes: readonly string[]): readonly Check[] {
  if (path === '') return [];
  const findings = mistakes.map((what) => ({
    code: 'accounts_file_wrong',
    what,
    means:
      'Running programs keep the last good accounts. A program that starts now ends with exit code 2. Only the account of the environment was checked.',
    remedy: 'Correct the line. Running programs read the file when it changes.',
  }));
  return [{ area: 'accounts', findings, seen: mistakes.length > 0 ? 'wrong' : 'read' }];
}

async function examineProvider(given: ProviderSettings): Promise<Examined<readonly NamedReading[]>> {
  const settings = withUsableKeys(given);
  const { PROVIDER_BASE_URL: baseUrl, PROVIDER_SECRET_KEY: secret } = settings;
  const checks: Check[] = [];
  const readings: (NamedReading | null)[] = [];
  // The provider would refuse every request with a key of another kind.
  const client = secret !== undefined && isSecretKey(secret) ? openProvider(settings) : null;
  if (client !== null && secret !== undefined && isLiveKey(secret) && isProviderPlain(settings)) {
    await client.close();
    return {
      checks: [{ area: 'provider', findings: [], seen: 'not checked: a live key must not be sent over http' }],
      clocks: [],
    };
  }
  if (baseUrl === undefined || client === null) return { checks: [notChecked(settings)], clocks: [] };
  try {
    const provider = await checkProvider(client, settings);
    checks.push(provider);
    readings.push(await readHttpClock('the provider', `${baseUrl.replace(/\/+$/, '')}/account`));
    const webhooks = await checkWebhooks(client, provider.account, settings);
    checks.push(webhooks);
    readings.push(webhooks.clock);
  } catch (error) {
    if (!(error instanceof PaymentsError)) throw error;
    checks.push({
      area: 'provider',
      findings: [providerFinding(error, settings)],
      seen: 'not checked: it could not be reached',
    });
  } finally {
    await client.close();
  }
  return { checks, clocks: readings.filter((reading) => reading !== null) };
}

/** Leaves out a public key of the wrong kind: {@link checkKeys} reports it, and the client would throw. */
function withUsableKeys(settings: ProviderSettings): ProviderSettings {
  const { PROVIDER_PUBLIC_KEY: key } = settings;
  return { ...settings, PROVIDER_PUBLIC_KEY: key === undefined || isPublicKey(key) ? key : undefined };
}

function notChecked({ PROVIDER_BASE_URL, PROVIDER_SECRET_KEY }: ProviderSettings): Check {
  const unset = Object.entries({ PROVIDER_BASE_URL, PROVIDER_SECRET_KEY }).filter(([, value]) => value === undefined);
  const findings = unset.map(([name]) => ({
    code: 'setting_missing',
    what: `${name} is not set here`,
    means: 'The provider, its account and its webhooks were not checked.',
    remedy: 'Run `pnpm tillflow doctor` with the settings of the API and the worker.',
  }));
  return { area: 'provider', findings, seen: 'not checked' };
}

async function examineTemporal(settings: ProviderSettings): Promise<Examined<TemporalClocks>> {
  const { TEMPORAL_TASK_QUEUE: taskQueue, WORKER_BUILD_ID: build } = settings;
  try {
    return await withTemporal(settings, ({ temporal }) =>
      temporal.connection.withDeadline(Date.now() + TEMPORAL_WITHIN_MS, async () => {
        const clock = await readTemporalClock(temporal, taskQueue, 'tillflow doctor');
        const clocks = { temporal: clock, workers: await workerClocks(temporal, taskQueue) };
        const namespace = await checkTemporal(temporal, taskQueue, businessDayRule(settings));
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
        'The API answers 503 and refuses webhooks, which the provider sends again. Temporal keeps every open checkout.',
      remedy:
        'Check TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and the TLS settings. See docs/operations.md, "Temporal is down".',
    },
  ];
  return { area: 'temporal', findings, seen: 'not checked: it could not be reached' };
}

function describe(checks: readonly Check[]): string[] {
  const findings = checks.flatMap((check) => check.findings);
  const warnings = checks.flatMap((check) => check.warnings ?? []);
  const end = findings.length === 0 ? 'No problem found.' : `${counted(findings.length, 'problem')} found.`;
  return [
    ...columns(checks.map((check) => [stateOf(check), check.area, check.seen])),
    ...findings.flatMap((finding) => inFull(finding, '')),
    ...warnings.flatMap((warning) => inFull(warning, 'warning ')),
    '',
    end,
    ...(warnings.length === 0 ? [] : [`${counted(warnings.length, 'warning')}.`]),
  ];
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function stateOf({ findings, warnings = [] }: Check): string {
  if (findings.length > 0) return 'FOUND';
  return warnings.length > 0 ? 'warn' : 'ok';
}

function inFull({ code, what, means, remedy }: Finding, kind: string): string[] {
  return ['', `${kind}${code}: ${what}`, `  means  ${means}`, `  do     ${remedy}`];
}
