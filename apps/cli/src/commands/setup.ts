import { PaymentsError, type PaymentsClient } from '@tillflow/payments-client';
import { setUpNamespace, setUpSchedules, type SetupStep } from '@tillflow/temporal';
import { searchAttributes } from '@tillflow/workflows';
import { command } from '../command.js';
import { EXIT, UnreachableError } from '../exit.js';
import { isUnreachable, openProvider } from '../provider.js';
import { providerSettings, webhookAddress, type ProviderSettings } from '../settings.js';
import { withTemporal } from '../with-temporal.js';

const WITHIN_MS = 10_000;

type Options = { readonly dryRun: boolean };

export const setup = command({
  name: 'setup',
  synopsis: '[--dry-run]',
  summary:
    'Search attributes, retention and schedules in Temporal, the webhook address at the provider. Safe to repeat.',
  details: [
    '  --dry-run   say what would be done',
    '',
    'The webhook address is PUBLIC_URL and /webhooks/provider. It is set only where PUBLIC_URL, PROVIDER_BASE_URL and',
    'PROVIDER_SECRET_KEY are; elsewhere the provider is left alone.',
  ],
  takes: 0,
  options: { 'dry-run': { type: 'boolean' } },
  async run({ values, environment }) {
    const settings = providerSettings(environment);
    const options = { dryRun: values['dry-run'] === true };
    // First, so that nothing is changed where its settings are wrong.
    const provider = webhookAddress(settings) === undefined ? null : openProvider(settings);
    const steps = await closing(provider, async () => [
      ...(await setUpTemporal(settings, options)),
      ...(await setUpWebhooks(provider, settings, options)),
    ]);
    return {
      exit: EXIT.ok,
      json: { steps },
      lines:
        steps.length === 0
          ? [`${settings.TEMPORAL_NAMESPACE}: nothing to do`]
          : steps.map(({ what, done }) => `${done ? 'done' : 'would'}: ${what}`),
    };
  },
});

function setUpTemporal(settings: ProviderSettings, options: Options): Promise<SetupStep[]> {
  return withTemporal(settings, ({ temporal }) =>
    temporal.connection.withDeadline(Date.now() + WITHIN_MS, async () => [
      ...(await setUpNamespace(temporal, Object.values(searchAttributes), options)),
      ...(await setUpSchedules(temporal, settings.TEMPORAL_TASK_QUEUE, options)),
    ]),
  );
}

/** @throws {UnreachableError} when the provider does not answer. Temporal was set up before. */
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
    const instead = present === null || present === undefined ? '' : `, in place of ${present}`;
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
