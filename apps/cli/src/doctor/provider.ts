import {
  AuthenticationError,
  InvalidRequestError,
  NotFoundError,
  PaymentsError,
  PermissionError,
  type Account,
  type PaymentsClient,
} from '@tillflow/payments-client';
import { isUnreachable } from '../provider.js';
import type { ProviderSettings } from '../settings.js';
import type { Check, Finding } from './finding.js';
import { isTestKey } from './keys.js';

/** The version that the product is written for, and the first that has the QR method. Source: API reference. */
const WRITTEN_FOR = '2025-06-09';
const FIRST_VERSION = '2017-11-02';
/** No source has this id: that it is not found says that the key was taken. */
const NO_SOURCE = 'src_test_0000000000000000000';

export type ProviderCheck = Check & {
  readonly account: Account;
};

/**
 * Whether the provider takes our keys, and has an account as the product needs it.
 * @throws {PaymentsError} when it cannot be asked: {@link providerFinding} says what that means.
 */
export async function checkProvider(client: PaymentsClient, settings: ProviderSettings): Promise<ProviderCheck> {
  const account = await client.account.retrieve();
  const findings = [
    ...modeFindings(account, settings),
    ...currencyFindings(account, settings),
    ...versionFindings(account, settings),
    ...(await publicKeyFindings(client, settings)),
  ];
  return { area: 'provider', findings, seen: `account ${account.id}, version ${account.api_version ?? '?'}`, account };
}

/** Why the provider could not be asked. */
export function providerFinding(
  error: PaymentsError,
  { PROVIDER_BASE_URL: baseUrl, PROVIDER_API_VERSION: version }: ProviderSettings,
): Finding {
  if (error instanceof AuthenticationError || error instanceof PermissionError) {
    return {
      code: 'secret_key_refused',
      what: `the provider refuses the secret key (${error.status ?? error.code})`,
      means: 'Nothing can be charged, looked at or refunded.',
      remedy:
        "Compare PROVIDER_SECRET_KEY with the provider's dashboard: it may have been replaced, or be of another account.",
    };
  }
  if (error instanceof NotFoundError) {
    return {
      code: 'provider_unreachable',
      what: `${baseUrl ?? 'what PROVIDER_BASE_URL names'} answers, and is not the provider's API: ${error.message}`,
      means: 'No QR can be made; payments under way are not looked up.',
      remedy: 'Compare PROVIDER_BASE_URL with what the provider names, its path included.',
    };
  }
  if (isUnreachable(error)) {
    return {
      code: 'provider_unreachable',
      what: `${baseUrl ?? 'the provider'} does not answer: ${error.code}${error.status === undefined ? '' : ` (${error.status})`}`,
      means: 'No QR can be made; payments under way are looked up as soon as it answers again. Nothing is lost.',
      remedy: 'Check PROVIDER_BASE_URL, name resolution and the way out; see docs/operations.md, The provider is down.',
    };
  }
  const isOfVersion = version !== undefined && error instanceof InvalidRequestError;
  return {
    code: isOfVersion ? 'version_skew' : 'account_refused',
    what: `the provider refuses to be asked${isOfVersion ? ` at PROVIDER_API_VERSION=${version}` : ''}: ${error.message}`,
    means: 'Requests of the worker are refused the same way.',
    remedy: isOfVersion
      ? 'Set PROVIDER_API_VERSION to a version that the provider knows, or unset it.'
      : 'Ask the provider.',
  };
}

function modeFindings(
  account: Account,
  { PROVIDER_SECRET_KEY: key = '', PROVIDER_LIVEMODE: wanted }: ProviderSettings,
): Finding[] {
  const { livemode } = account;
  if (typeof livemode !== 'boolean') return [];
  // What is wanted was compared with the key itself already.
  if (livemode !== isTestKey(key) || (wanted !== undefined && wanted === isTestKey(key))) return [];
  return [
    {
      code: livemode ? 'test_key_on_live' : 'live_key_on_test',
      what: `the secret key is for ${isTestKey(key) ? 'test' : 'live'} mode, the account answers in ${livemode ? 'live' : 'test'} mode`,
      means: 'Charges of the other mode are not believed: no payment would ever be seen.',
      remedy: 'Check PROVIDER_BASE_URL and PROVIDER_SECRET_KEY: the one is not of the other.',
    },
  ];
}

function currencyFindings(
  { supported_currencies: supported }: Account,
  { CURRENCIES: ours }: ProviderSettings,
): Finding[] {
  if (!Array.isArray(supported)) return [];
  const missing = ours.filter((currency) => !supported.some((one: unknown) => String(one).toUpperCase() === currency));
  if (missing.length === 0) return [];
  return [
    {
      code: 'currency_unsupported',
      what: `the account does not support ${missing.join(', ')} (it supports ${supported.join(', ') || 'none'})`,
      means: 'Checkouts in it fail at the provider, in front of the customer.',
      remedy: `Ask the provider to enable it, or set CURRENCIES for API and tillflow to what is sold in.`,
    },
  ];
}

function versionFindings(
  { api_version: version }: Account,
  { PROVIDER_API_VERSION: pinned }: ProviderSettings,
): Finding[] {
  if (typeof version !== 'string') return [];
  const inEffect = pinned ?? version;
  const which = pinned === undefined ? 'the account is at version' : 'PROVIDER_API_VERSION is';
  if (inEffect < FIRST_VERSION) {
    return [
      skew(
        `${which} ${inEffect}, older than ${FIRST_VERSION}`,
        'The QR method does not exist in it: no charge can be made.',
      ),
    ];
  }
  if (inEffect !== WRITTEN_FOR) {
    return [
      skew(
        `${which} ${inEffect}, the product is written for ${WRITTEN_FOR}`,
        'Replies may lack or rename fields that are relied on.',
      ),
    ];
  }
  if (version !== inEffect) {
    return [
      skew(
        `requests ask for ${inEffect}, the account is at ${version}`,
        'Webhooks and events have the shape of the account’s version. Only their ids are relied on.',
      ),
    ];
  }
  return [];
}

function skew(what: string, means: string): Finding {
  const remedy = `Set PROVIDER_API_VERSION=${WRITTEN_FOR}; move the account when nothing else uses it: POST /v1/account/api-version.`;
  return { code: 'version_skew', what, means, remedy };
}

async function publicKeyFindings(client: PaymentsClient, settings: ProviderSettings): Promise<Finding[]> {
  if (settings.PROVIDER_PUBLIC_KEY === undefined) return [];
  try {
    await client.sources.retrieve(NO_SOURCE, { useKey: 'public' });
    return [];
  } catch (error) {
    if (!(error instanceof PaymentsError)) throw error;
    // The key was taken, the id was not.
    if (error instanceof NotFoundError || error instanceof InvalidRequestError) return [];
    if (!(error instanceof AuthenticationError) && !(error instanceof PermissionError)) {
      return [providerFinding(error, settings)];
    }
    return [
      {
        code: 'public_key_refused',
        what: `the provider refuses the public key (${error.status ?? error.code})`,
        means: 'Clients that make their own source cannot.',
        remedy: "Compare PROVIDER_PUBLIC_KEY with the provider's dashboard.",
      },
    ];
  }
}
