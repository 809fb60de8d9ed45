import { PaymentsError, webhooks, type Account, type Event, type PaymentsClient } from '@tillflow/payments-client';
import { z } from 'zod';
import { webhookAddress, type ProviderSettings } from '../settings.js';
import { clockOf, type NamedReading } from './clocks.js';
import type { Check, Finding } from './finding.js';
import { providerFinding } from './provider.js';

const PROBE_WITHIN_MS = 10_000;
/** Enough to have seen the last delivery of any working day. */
const EVENTS = 100;
/** The setting by which the API takes webhooks without a signature. */
const OFF = 'off';
/** About nothing: the API answers it and does nothing. */
const PROBE = JSON.stringify({
  object: 'event',
  id: 'evnt_tillflow_doctor',
  key: 'tillflow.doctor',
  data: { object: 'tillflow_doctor', id: 'tillflow_doctor' },
});

const delivery = z.object({ uri: z.string(), status: z.number().nullish(), error: z.string().nullish() });
type Delivery = z.output<typeof delivery>;

/** What the API answers to a webhook: a receipt, or why it refused. */
const receipt = z.object({ received: z.literal(true) });
const refusal = z.object({ code: z.string(), detail: z.string().optional() });

/** What an address answered to a probe; null: nothing. */
type Answer = {
  readonly status: number;
  /** As our API does: it took the probe, or refused its signature. */
  readonly as: 'taken' | 'refused' | 'something else';
  readonly reason: string;
  readonly clock: NamedReading | null;
} | null;

export type WebhooksCheck = Check & {
  /** What the API says the time is. */
  readonly clock: NamedReading | null;
};

/**
 * Whether webhooks go to the API, and are believed there. Asks the API itself, with probes that are signed as the
 * provider signs, and the provider, what its last deliveries were answered with: a secret that is wrong at the
 * provider shows in the one, a secret that is wrong here in the other.
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
      means: 'Whether the API believes what the provider signs was not looked at.',
      remedy: 'Run the doctor with the settings of the API and the worker.',
    },
  ];
}

function addressFindings(registered: string | null, wanted: string | undefined): Finding[] {
  const means = 'Payments are noticed by polls only, up to 25 s late (POLL_INTERVAL_MS).';
  if (registered === null || registered === '') {
    const remedy = 'pnpm tillflow setup, with PUBLIC_URL set to the address at which the provider reaches the API.';
    return [{ code: 'webhook_uri_unset', what: 'the account has no webhook address', means, remedy }];
  }
  if (wanted === undefined || registered === wanted) return [];
  return [
    {
      code: 'webhook_uri_other',
      what: `the account's webhooks go to ${registered}, not to ${wanted}`,
      means: `${means} If another system reads them there, both cannot have them.`,
      remedy: 'pnpm tillflow setup --dry-run, then pnpm tillflow setup; or correct PUBLIC_URL.',
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
  if (unsigned === null || unsigned.as === 'something else') {
    return { findings: [unreachable(address, unsigned)], clock: unsigned?.clock ?? null };
  }
  const { clock } = unsigned;
  if (secrets.includes(OFF) && unsigned.as === 'refused') return { findings: [unsignedRefused(address)], clock };
  if (signing.length === 0) return { findings: [], clock };
  if (unsigned.as === 'taken') return { findings: [unverified(address)], clock };
  const answers = await Promise.all(
    signing.map((secret) => probe(address, webhooks.sign(PROBE, { secret, timestamp }))),
  );
  const refused = answers.filter((answer) => answer?.as !== 'taken');
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

/** @returns what our API says by this answer, and its word on why it refused; empty when it says none. */
function read(status: number, body: string): Pick<NonNullable<Answer>, 'as' | 'reason'> {
  const json = jsonOf(body);
  if (status === 200 && receipt.safeParse(json).success) return { as: 'taken', reason: '' };
  const { data } = refusal.safeParse(json);
  const reason = data === undefined ? '' : `${data.code}: ${data.detail ?? ''}`;
  return { as: data?.code === 'signature_invalid' ? 'refused' : 'something else', reason };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function unreachable(address: string, answer: Answer): Finding {
  const said = answer === null ? 'does not answer' : `answers ${answer.status}, which is not the API's word`;
  return {
    code: 'webhook_unreachable',
    what: `${address} ${said}, asked from here`,
    means: 'If the provider gets no better answer, payments are noticed by polls only, up to 25 s late.',
    remedy: 'Check that the API runs, and its address: PUBLIC_URL. 503: the API cannot reach Temporal.',
  };
}

function unsignedRefused(address: string): Finding {
  return {
    code: 'webhook_secret_mismatch',
    what: `${address} wants a signature, although PROVIDER_WEBHOOK_SECRET is off here`,
    means: 'API and this command have different settings. If the provider does not sign, every webhook is refused.',
    remedy: 'Give the API the same PROVIDER_WEBHOOK_SECRET, and start it again.',
  };
}

function unverified(address: string): Finding {
  return {
    code: 'webhook_secret_mismatch',
    what: `${address} takes webhooks without a signature, although a secret is set here`,
    means: 'Anyone can make the API look charges up. Nothing can be declared paid that way.',
    remedy: 'Give the API the same PROVIDER_WEBHOOK_SECRET instead of off, and start it again.',
  };
}

function refusedProbe(answer: Answer, refused: number, all: number): Finding {
  if (answer !== null && answer.reason.includes('timestamp_out_of_tolerance')) {
    return {
      code: 'clock_skew',
      what: 'the API refuses a webhook that was signed just now as too old, or as of the future',
      means: 'The clock of the API or of this machine is more than 5 minutes off: real webhooks may be refused too.',
      remedy: 'Let both machines take their time from the network (NTP).',
    };
  }
  const reason = answer === null ? 'no answer' : `${answer.status} ${answer.reason}`.trim();
  return {
    code: 'webhook_secret_mismatch',
    what: `the API refuses ${refused} of ${all} webhooks signed with PROVIDER_WEBHOOK_SECRET (${reason})`,
    means:
      'API and this command have different secrets. If the provider signs with this one, every webhook is refused.',
    remedy:
      "Set the secrets of the provider's dashboard for the API, and start it again. docs/operations.md, A secret was rotated.",
  };
}

/** The newest event that was delivered to this address: what its last try was answered with. */
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
        return { findings: deliveryFindings(event, last), seen: `last one answered ${statusOf(last)}` };
    }
    return { findings: [], seen: 'none delivered lately' };
  } catch (error) {
    if (!(error instanceof PaymentsError)) throw error;
    return { findings: [providerFinding(error, settings)], seen: 'its deliveries could not be read' };
  }
}

/** The tries of an event at this address that have an end: one that is under way says nothing yet. */
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
        means: 'Webhooks are lost; payments are noticed by polls only, up to 25 s late.',
        remedy:
          "Compare PROVIDER_WEBHOOK_SECRET of the API with the provider's dashboard. After a change this goes away with the next delivery.",
      },
    ];
  }
  return [
    {
      code: 'webhook_deliveries_fail',
      what,
      means: 'The provider cannot deliver; payments are noticed by polls only, up to 25 s late.',
      remedy: 'Check the way from the provider to the API. After a change this goes away with the next delivery.',
    },
  ];
}

function statusOf({ status, error }: Delivery): string {
  return status === null || status === undefined ? (error ?? 'no answer') : String(status);
}
