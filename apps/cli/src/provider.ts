import {
  ConfigurationError,
  ConnectionError,
  PaymentsClient,
  ServerError,
  TimeoutError,
  UnexpectedResponseError,
  type PaymentsClientOptions,
  type PaymentsError,
} from '@tillflow/payments-client';
import { SettingsError } from '@tillflow/temporal';
import type { ProviderSettings } from './settings.js';

const TIMEOUT_MS = 10_000;
const DEADLINE_MS = 20_000;

/** A client of the provider, or null without address or key. @throws {SettingsError} for keys of the wrong kind. */
export function openProvider(
  settings: ProviderSettings,
  options: Pick<PaymentsClientOptions, 'dispatcher'> = {},
): PaymentsClient | null {
  const { PROVIDER_BASE_URL: baseUrl, PROVIDER_SECRET_KEY: secretKey } = settings;
  if (baseUrl === undefined || secretKey === undefined) return null;
  const { PROVIDER_PUBLIC_KEY: publicKey, PROVIDER_API_VERSION: apiVersion } = settings;
  try {
    return new PaymentsClient({
      baseUrl,
      secretKey,
      publicKey,
      apiVersion,
      timeoutMs: TIMEOUT_MS,
      deadlineMs: DEADLINE_MS,
      maxRetries: 1,
      ...options,
    });
  } catch (error) {
    if (error instanceof ConfigurationError) throw new SettingsError([withSettingNames(error.message)]);
    throw error;
  }
}

/** Replaces the client's option names with the names of the settings. */
function withSettingNames(message: string): string {
  const names = { baseUrl: 'PROVIDER_BASE_URL', secretKey: 'PROVIDER_SECRET_KEY', publicKey: 'PROVIDER_PUBLIC_KEY' };
  return Object.entries(names).reduce((text, [option, setting]) => text.replaceAll(option, setting), message);
}

/** Whether the provider is down, or another server answers at its address. */
export function isUnreachable(error: PaymentsError): boolean {
  return (
    error instanceof ConnectionError ||
    error instanceof TimeoutError ||
    error instanceof ServerError ||
    error instanceof UnexpectedResponseError
  );
}
