import { PaymentsError, webhooks, type Account, type Event, type PaymentsClient } from '@tillflow/payments-client';
import { z } from 'zod';
import { webhookAddress, type ProviderSettings } from '../settings.js';
import { clockOf, type NamedReading } from './clocks.js';
import type { Check, Finding } from './finding.js';
import { providerFinding } from './provider.js';

const PROBE_WITHIN_MS = 10_000;
/** Enough to include the last delivery of a normal working day. */
const EVENTS = 100;
/** With this value of the setting, the API accepts webhooks without a signature. */
const OFF = 'off';
/** An event of an unknown kind: the API answers it and does nothing. */
const PROBE = JSON.stringify({
  object: 'event',
  id: 'evnt_tillflow_doctor',
  key: 'tillflow.doctor',
  data: { object: 'tillflow_doctor', id: 'tillflow_doctor' },
});

const delivery = z.object({ uri: z.string(), status: z.number().nullish(), error: z.string().nullish() });
type Delivery = z.output<typeof delivery>;

/** The API's answer to a webhook: accepted, or refused with a reason. */
const receipt = z.object({ received: z.literal(true) });
const refusal = z.object({ code: z.string(), detail: z.string().optional() });

/** The answer of an address to a probe. Null: no answer. */
type Answer = {
  readonly status: number;
  /** Whether the answer is that of Tillflow's API: it accepted the probe, or refused its signature. */
  readonly kind: 'accepted' | 'refused' | 'not the API';
  readonly reason: string;
  readonly clock: NamedReading | null;
} | null;

export type WebhooksCheck = Check & {
  /** The clock of the API. */
  readonly clock: NamedReading | null;
};

/**
 * Checks if webhooks reach the API, and if it accepts their signatures. Sends signed probes to the API, which shows a
 * wrong secret in the API's settings. Reads the provider's last delivery, which shows a wrong secret at the provider.
 */
export async function checkWebhooks(
  client: PaymentsClient,
  account: Account,
  settings: ProviderSettings,
): Promise<WebhooksCheck> {
  const registered = account.webhook_uri === '' ? null : (account.webhook_uri ?? null);
  const wanted = webhookAddress(settings);
  const address = registered ?? wanted;
  const findings = [...addressFindings(registered, wanted), ...secretFindings(settings)];
  if (address === undefined) return { area: 'webhooks', findings, seen: 'no address', clock: null };
  const probes = await probeFindings(address, settings);
  const last = await lastDelivery(client, address, settings);
  return {
    area: 'webhooks',
    findings: [...findings, ...probes.findings, ...last.findings],
    seen: `${address}; ${last.seen}`,
    clock: probes.clock,
  };
}

function secretFindings({ PROVIDER_WEBHOOK_SECRET: secrets }: ProviderSettings): Finding[] {
  if (secrets !== undefined) return [];
  return [
    {
      code: 'setting_missing',
      what: 'PROVIDER_WEBHOOK_SECRET is not set here',
      means: 'The check of webhook signatures was skipped.',
      remedy: 'Run `pnpm tillflow doctor` with the settings of the API and the worker.',
    },
  ];
}

function addressFindings(registered: string | null, wanted: string | undefined): Finding[] {
  const means = 'Tillflow sees payments only by polling, up to 25 s late (POLL_INTERVAL_MS).';
  if (registered === null || registered === '') {
    const remedy =
      'Set PUBLIC_URL to the address at which the provider reaches the API, and run `pnpm tillflow setup`.';
    return [{ code: 'webhook_uri_unset', what: 'the account has no webhook address', means, remedy }];
  }
  if (wanted === undefined || registered === wanted) return [];
  return [
    {
      code: 'webhook_uri_other',
      what: `the account's webhooks go to ${registered}, not to ${wanted}`,
      means: `${means} If another system uses that address, only one of the two can receive the webhooks.`,
      remedy: 'Correct PUBLIC_URL, or run `pnpm tillflow setup --dry-run` and then `pnpm tillflow setup`.',
    },
  ];
}

async function probeFindings(
  address: string,
  { PROVIDER_WEBHOOK_SECRET: secrets = [] }: ProviderSettings,
): Promise<{ readonly findings: readonly Finding[]; readonly clock: NamedReading | null }> {
  const timestamp = Math.floor(Date.now() / 1_000);
  const signing = secrets.filter((secret) => secret !== OFF);
  const unsigned = await probe(address, {});
  if (unsigned === null || unsigned.kind === 'not the API') {
    return { findings: [unreachable(address, unsigned)], clock: unsigned?.clock ?? null };
  }
  const { clock } = unsigned;
  if (secrets.includes(OFF) && unsigned.kind === 'refused') return { findings: [unsignedRefused(address)], clock };
  if (signing.length === 0) return { findings: [], clock };
  if (unsigned.kind === 'accepted') return { findings: [unverified(address)], clock };
  const answers = await Promise.all(
    signing.map((secret) => probe(address, webhooks.sign(PROBE, { secret, timestamp }))),
  );
  const refused = answers.filter((answer) => answer?.kind !== 'accepted');
  const [first] = refused;
  return { findings: first === undefined ? [] : [refusedProbe(first, refused.length, signing.length)], clock };
}

async function probe(address: string, headers: Readonly<Record<string, string>>): Promise<Answer> {
  const from = Date.now();
  try {
    const response = await fetch(address, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: PROBE,
      redirect: 'manual',
      signal: AbortSignal.timeout(PROBE_WITHIN_MS),
    });
    const clock = clockOf('the API', from, response);
    return { status: response.status, ...read(response.status, await response.text()), clock };
  } catch {
    return null;
  }
}

/** Classifies an answer. @returns the reason is empty when the answer gives none. */
function read(status: number, body: string): Pick<NonNullable<Answer>, 'kind' | 'reason'> {
  const json = jsonOf(body);
  if (status === 200 && receipt.safeParse(json).success) return { kind: 'accepted', reason: '' };
  const { data } = refusal.safeParse(json);
  const reason = data === undefined ? '' : `${data.code}: ${data.detail ?? ''}`;
  return { kind: data?.code === 'signature_invalid' ? 'refused' : 'not the API', reason };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function unreachable(address: string, answer: Answer): Finding {
  const problem =
    answer === null ? 'does not answer' : `answers ${answer.status}, which is not an answer of Tillflow's API`;
  return {
    code: 'webhook_unreachable',
    what: `${address} ${problem} (tested from this machine)`,
    means:
      'If the provider gets the same result, Tillflow sees payments by the event tail and by polls, up to 25 s late, or up to 5 min where the event tail has stopped.',
    remedy:
      'Check that the API runs, and that PUBLIC_URL is its address. Status 503 means that the API cannot reach Temporal.',
  };
}

function unsignedRefused(address: string): Finding {
  return {
    code: 'webhook_secret_mismatch',
    what: `${address} requires a signature, but PROVIDER_WEBHOOK_SECRET is off here`,
    means:
      'The API and this command have different settings. If the provider does not sign, the API refuses every webhook.',
    remedy: 'Set the same PROVIDER_WEBHOOK_SECRET for the API, and restart it.',
  };
}

function unverified(address: string): Finding {
  return {
    code: 'webhook_secret_mismatch',
    what: `${address} accepts webhooks without a signature, but a secret is set here`,
    means: 'Everyone can make Tillflow retrieve charges. They cannot make a checkout paid that way.',
    remedy: 'Set the same PROVIDER_WEBHOOK_SECRET for the API instead of off, and restart it.',
  };
}

function refusedProbe(answer: Answer, refused: number, all: number): Finding {
  if (answer !== null && answer.reason.includes('timestamp_out_of_tolerance')) {
    return {
      code: 'clock_skew',
      what: 'the API refuses a webhook that was signed just now, because its time is too old or in the future',
      means:
        'The clock of the API or of this machine is wrong by more than 5 minutes. Real webhooks may be refused, too.',
      remedy: 'Synchronize the clocks of both machines (NTP).',
    };
  }
  const reason = answer === null ? 'no answer' : `${answer.status} ${answer.reason}`.trim();
  return {
    code: 'webhook_secret_mismatch',
    what: `the API refuses ${refused} of ${all} webhooks signed with PROVIDER_WEBHOOK_SECRET (${reason})`,
    means:
      'The API and this command have different secrets. If the provider signs with this one, the API refuses every webhook.',
    remedy:
      'Set the secrets from the provider\'s dashboard for the API, and restart it. See docs/operations.md, "A secret was rotated".',
  };
}

/** Reads the result of the provider's last delivery to this address. */
async function lastDelivery(
  client: PaymentsClient,
  address: string,
  settings: ProviderSettings,
): Promise<Pick<Check, 'findings' | 'seen'>> {
  try {
    const { data } = await client.events.list({ order: 'reverse_chronological', limit: EVENTS });
    for (const event of data) {
      const last = ended(event, address).at(-1);
      if (last !== undefined)
        return { findings: deliveryFindings(event, last), seen: `last delivery answered ${statusOf(last)}` };
    }
    return { findings: [], seen: 'no recent delivery' };
  } catch (error) {
    if (!(error instanceof PaymentsError)) throw error;
    return { findings: [providerFinding(error, settings)], seen: 'the deliveries could not be read' };
  }
}

/** The finished delivery attempts of an event to this address. */
function ended(event: Event, address: string): Delivery[] {
  return (event.webhook_deliveries ?? [])
    .map((one) => delivery.safeParse(one))
    .flatMap(({ data: one }) => (one?.uri === address && (one.status ?? one.error ?? null) !== null ? [one] : []));
}

function deliveryFindings(event: Event, last: Delivery): Finding[] {
  const { status } = last;
  if (typeof status === 'number' && status >= 200 && status < 300) return [];
  const what = `the provider's last delivery (${event.key}, ${event.created_at ?? 'time unknown'}) ended with ${statusOf(last)}`;
  if (status === 400 || status === 401) {
    return [
      {
        code: 'webhook_secret_mismatch',
        what: `${what}: the API refused its signature`,
        means:
          'Webhooks are lost. Tillflow sees payments by the event tail and by polls, up to 25 s late, or up to 5 min where the event tail has stopped.',
        remedy:
          "Compare PROVIDER_WEBHOOK_SECRET of the API with the provider's dashboard. After a correction, this finding disappears with the next delivery.",
      },
    ];
  }
  return [
    {
      code: 'webhook_deliveries_fail',
      what,
      means:
        'The provider cannot deliver webhooks. Tillflow sees payments by the event tail and by polls, up to 25 s late, or up to 5 min where the event tail has stopped.',
      remedy:
        'Check the connection from the provider to the API. After a correction, this finding disappears with the next delivery.',
    },
  ];
}

function statusOf({ status, error }: Delivery): string {
  return status === null || status === undefined ? (error ?? 'no answer') : String(status);
}
