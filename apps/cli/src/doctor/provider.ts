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

/** The API version that Tillflow uses, and the first with the QR method. Source: API reference. */
const SUPPORTED_VERSION = '2025-06-09';
const FIRST_VERSION = '2017-11-02';
/** No source has this id, so the answer "not found" proves that the provider accepted the key. */
const NO_SOURCE = 'src_test_0000000000000000000';

export type ProviderCheck = Check & {
  readonly account: Account;
};

/**
 * Checks if the provider accepts the keys, and if the account fits.
 * @throws {PaymentsError} when the provider cannot be reached or refuses: {@link providerFinding} explains it.
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

/** Explains why the provider did not answer the first request. */
export function providerFinding(
  error: PaymentsError,
  { PROVIDER_BASE_URL: baseUrl, PROVIDER_API_VERSION: version }: ProviderSettings,
): Finding {
  if (error instanceof AuthenticationError || error instanceof PermissionError) {
    return {
      code: 'secret_key_refused',
      what: `the provider refuses the secret key (${error.status ?? error.code})`,
      means: 'Tillflow cannot create, read or refund any charge.',
      remedy:
        "Compare PROVIDER_SECRET_KEY with the provider's dashboard. It may have been replaced, or belong to another account.",
    };
  }
  if (error instanceof NotFoundError) {
    return {
      code: 'provider_unreachable',
      what: `${baseUrl ?? 'the address in PROVIDER_BASE_URL'} answers, but is not the provider's API: ${error.message}`,
      means: 'Tillflow cannot create a QR, and does not see payments of open checkouts.',
      remedy: 'Compare PROVIDER_BASE_URL, with its path, with the address that the provider documents.',
    };
  }
  if (isUnreachable(error)) {
    return {
      code: 'provider_unreachable',
      what: `${baseUrl ?? 'the provider'} does not answer: ${error.code}${error.status === undefined ? '' : ` (${error.status})`}`,
      means:
        'Tillflow cannot create a QR. It checks open payments as soon as the provider answers again. Nothing is lost.',
      remedy:
        'Check PROVIDER_BASE_URL, DNS and the outgoing connection. See docs/operations.md, "The provider is down".',
    };
  }
  const isOfVersion = version !== undefined && error instanceof InvalidRequestError;
  return {
    code: isOfVersion ? 'version_skew' : 'account_refused',
    what: `the provider refuses the request for the account${isOfVersion ? ` with PROVIDER_API_VERSION=${version}` : ''}: ${error.message}`,
    means: 'The provider refuses the requests of the worker, too.',
    remedy: isOfVersion
      ? 'Set PROVIDER_API_VERSION to a version that the provider knows, or unset it.'
      : 'Contact the provider.',
  };
}

function modeFindings(
  account: Account,
  { PROVIDER_SECRET_KEY: key = '', PROVIDER_LIVEMODE: wanted }: ProviderSettings,
): Finding[] {
  const { livemode } = account;
  if (typeof livemode !== 'boolean') return [];
  // {@link checkKeys} compares the key with PROVIDER_LIVEMODE.
  if (livemode !== isTestKey(key) || (wanted !== undefined && wanted === isTestKey(key))) return [];
  return [
    {
      code: livemode ? 'test_key_on_live' : 'live_key_on_test',
      what: `the secret key is for ${isTestKey(key) ? 'test' : 'live'} mode, but the account answers in ${livemode ? 'live' : 'test'} mode`,
      means: 'Tillflow does not accept charges of another mode, so it would never see a payment.',
      remedy: 'Check PROVIDER_BASE_URL and PROVIDER_SECRET_KEY: they do not belong together.',
    },
  ];
}

function currencyFindings(
  { supported_currencies: supported }: Account,
  { CURRENCIES: sold }: ProviderSettings,
): Finding[] {
  if (!Array.isArray(supported)) return [];
  const missing = sold.filter((currency) => !supported.some((one: unknown) => String(one).toUpperCase() === currency));
  if (missing.length === 0) return [];
  return [
    {
      code: 'currency_unsupported',
      what: `the account does not support ${missing.join(', ')} (it supports ${supported.join(', ') || 'none'})`,
      means: 'The provider refuses checkouts in these currencies while the customer waits.',
      remedy: 'Ask the provider to enable them, or set CURRENCIES for API and tillflow to the supported ones.',
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
        'This version has no QR method, so no charge can be created.',
      ),
    ];
  }
  if (inEffect !== SUPPORTED_VERSION) {
    return [
      skew(
        `${which} ${inEffect}, but Tillflow uses ${SUPPORTED_VERSION}`,
        'Replies may lack fields that Tillflow needs, or name them differently.',
      ),
    ];
  }
  if (version !== inEffect) {
    return [
      skew(
        `requests use version ${inEffect}, but the account is at ${version}`,
        'Webhooks and events have the format of the account’s version. Tillflow uses only their ids.',
      ),
    ];
  }
  return [];
}

function skew(what: string, means: string): Finding {
  const remedy = `Set PROVIDER_API_VERSION=${SUPPORTED_VERSION}. If no other system uses the account, change its version: POST /v1/account/api-version.`;
  return { code: 'version_skew', what, means, remedy };
}

async function publicKeyFindings(client: PaymentsClient, settings: ProviderSettings): Promise<Finding[]> {
  if (settings.PROVIDER_PUBLIC_KEY === undefined) return [];
  try {
    await client.sources.retrieve(NO_SOURCE, { useKey: 'public' });
    return [];
  } catch (error) {
    if (!(error instanceof PaymentsError)) throw error;
    // The provider accepted the key, and does not know the id.
    if (error instanceof NotFoundError || error instanceof InvalidRequestError) return [];
    if (!(error instanceof AuthenticationError) && !(error instanceof PermissionError)) {
      return [providerFinding(error, settings)];
    }
    return [
      {
        code: 'public_key_refused',
        what: `the provider refuses the public key (${error.status ?? error.code})`,
        means: 'Clients that create their own source get an error.',
        remedy: "Compare PROVIDER_PUBLIC_KEY with the provider's dashboard.",
      },
    ];
  }
}
