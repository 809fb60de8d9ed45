import { grpcCode, isTooSlow } from './failures.js';
import type { TemporalSettings } from './settings.js';

/** gRPC's numbers. */
const CODES = { notFound: 5, permissionDenied: 7, unauthenticated: 16 } as const;

/**
 * Why Temporal cannot be used, and which settings say otherwise. For a person; holds no secret.
 * @param met what the tries behind the failure met, where that is known.
 */
export function whyUnreachable(error: unknown, settings: TemporalSettings, met: string | null): string {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = settings;
  const said = error instanceof Error ? error.message : String(error);
  // Of tries that went on until the time was over, the time says less than what they met.
  const words = isTooSlow(error) && met !== null ? met : said;
  const where = `Temporal at ${address}, namespace ${namespace}`;
  switch (grpcCode(error)) {
    case CODES.notFound:
      return `${where}: there is no such namespace (${words}). Create it, or set TEMPORAL_NAMESPACE.`;
    case CODES.permissionDenied:
    case CODES.unauthenticated:
      return `${where}: access is refused (${words}). Check TEMPORAL_API_KEY, or TEMPORAL_TLS_CERT_PATH and TEMPORAL_TLS_KEY_PATH, and TEMPORAL_NAMESPACE.`;
    default:
      return `Cannot reach ${where} (${words}). Check that it runs, TEMPORAL_ADDRESS, and TEMPORAL_TLS and what belongs to it.`;
  }
}
