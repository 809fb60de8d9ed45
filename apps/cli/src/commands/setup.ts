import { PaymentsError, type PaymentsClient } from '@tillflow/payments-client';
import {
  businessDayRule,
  retryUntilDone,
  SettingsError,
  setUpNamespace,
  setUpSchedules,
  type SetupStep,
} from '@tillflow/temporal';
import { searchAttributes } from '@tillflow/workflows';
import { environmentsOf } from '../accounts.js';
import { command, EXIT, UnreachableError, UsageError } from '../command.js';
import { isUnreachable, openProvider } from '../provider.js';
import { safeProviderSettings, webhookAddress, type ProviderSettings } from '../settings.js';
import { withTemporal } from '../temporal.js';

const WITHIN_MS = 10_000;
const WAIT_S = 60;
const LONGEST_WAIT_S = 3_600;

type Options = { readonly dryRun: boolean };

export const setup = command({
  name: 'setup',
  synopsis: '[--dry-run] [--wait <seconds>]',
  summary: 'Sets up search attributes, retention and schedules in Temporal, and the webhook address. Safe to repeat.',
  details: [
    '  --dry-run          show what would be done',
    '  --wait <seconds>   how long to try again while Temporal cannot be reached; default: 60; 0: try once',
    '',
    'The webhook address is PUBLIC_URL plus /webhooks/provider, and plus /<account> for a further account. It is set only',
    'when PUBLIC_URL, PROVIDER_BASE_URL and PROVIDER_SECRET_KEY are set. Otherwise the provider is not changed.',
  ],
  takes: 0,
  isForAll: true,
  options: { 'dry-run': { type: 'boolean' }, wait: { type: 'string' } },
  async run({ values, environment, account, warn }) {
    const { accounts, mistakes } = environmentsOf(environment, account);
    if (mistakes.length > 0) throw new SettingsError(mistakes);
    // All of them first, so that wrong settings of one account stop the command before it changes anything.
    const all = [...accounts.values()].map((own) => safeProviderSettings(own));
    const options = { dryRun: values['dry-run'] === true };
    const waitMs = toSeconds(values.wait) * 1_000;
    const steps: SetupStep[] = [];
    for (const settings of all) {
      // Before Temporal, for the same reason.
      const provider = webhookAddress(settings) === undefined ? null : openProvider(settings);
      await closing(provider, async () => {
        steps.push(...(await waiting(waitMs, warn, () => setUpTemporal(settings, options))));
        steps.push(...(await setUpWebhooks(provider, settings, options)));
      });
    }
    return {
      exit: EXIT.ok,
      json: { steps },
      lines:
        steps.length === 0
          ? [`${all[0]?.TEMPORAL_NAMESPACE ?? 'default'}: nothing to do`]
          : steps.map(({ what, done }) => `${done ? 'done' : 'would'}: ${what}`),
    };
  },
});

/** @throws {UsageError} */
function toSeconds(text = String(WAIT_S)): number {
  const seconds = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (seconds <= LONGEST_WAIT_S) return seconds;
  throw new UsageError(`--wait is a whole number of seconds, from 0 to ${LONGEST_WAIT_S}`);
}

/**
 * Temporal, or its namespace, may become ready after this command started. A try that did not reach it changed nothing.
 */
function waiting<T>(waitMs: number, warn: (line: string) => void, work: () => Promise<T>): Promise<T> {
  return retryUntilDone(work, {
    signal: AbortSignal.timeout(waitMs),
    isRetryable: (error) => error instanceof UnreachableError,
    failed: (error, pauseMs) => {
      const words = error instanceof Error ? error.message : String(error);
      if (waitMs > 0) warn(`${words} Trying again in ${(pauseMs / 1_000).toFixed(1)} s.`);
    },
  });
}

function setUpTemporal(settings: ProviderSettings, options: Options): Promise<SetupStep[]> {
  return withTemporal(settings, ({ temporal }) =>
    temporal.connection.withDeadline(Date.now() + WITHIN_MS, async () => [
      ...(await setUpNamespace(temporal, Object.values(searchAttributes), options)),
      ...(await setUpSchedules(temporal, settings.TEMPORAL_TASK_QUEUE, {
        ...options,
        businessDays: businessDayRule(settings),
      })),
    ]),
  );
}

/** @throws {UnreachableError} when the provider does not answer. Temporal has been set up by then. */
async function setUpWebhooks(
  client: PaymentsClient | null,
  settings: ProviderSettings,
  { dryRun }: Options,
): Promise<SetupStep[]> {
  const wanted = webhookAddress(settings);
  if (client === null || wanted === undefined) return [];
  try {
    const { webhook_uri: present } = await client.account.retrieve();
    if (present === wanted) return [];
    if (!dryRun) await client.account.update({ webhook_uri: wanted });
    const instead = present === null || present === undefined ? '' : ` instead of ${present}`;
    return [{ what: `send webhooks to ${wanted}${instead}`, done: !dryRun }];
  } catch (error) {
    if (error instanceof PaymentsError && isUnreachable(error)) {
      throw new UnreachableError(`The provider does not answer: ${error.message}`);
    }
    throw error;
  }
}

async function closing<T>(client: PaymentsClient | null, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    await client?.close();
  }
}
