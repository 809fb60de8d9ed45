import { fileURLToPath } from 'node:url';
import type { DataConverter } from '@temporalio/common';
import { EncryptionCodec } from './encryption-codec.js';
import type { TemporalSettings } from '../settings/settings.js';

/** The failure converter that a workflow bundle needs where payloads are encrypted. */
export const FAILURE_CONVERTER_PATH = fileURLToPath(new URL('failure-converter.cjs', import.meta.url));

type Keys = Pick<TemporalSettings, 'PAYLOAD_KEYS'>;

export function isEncrypting({ PAYLOAD_KEYS: keys }: Keys): boolean {
  return keys !== undefined;
}

/** Converts values to the payloads that Temporal stores. Every program that reads or writes a workflow uses it. */
export function dataConverter(settings: Keys): DataConverter {
  return {
    // Also without keys: the codec then explains why it cannot read an encrypted payload.
    payloadCodecs: [new EncryptionCodec(settings.PAYLOAD_KEYS ?? [])],
    ...(isEncrypting(settings) ? { failureConverterPath: FAILURE_CONVERTER_PATH } : {}),
  };
}

/** Warns at start that anyone who can read Temporal's database can read every payload. */
export function warnIfUnencrypted(settings: Keys, logger: { warn(message: string): void }): void {
  if (isEncrypting(settings)) return;
  logger.warn('Temporal stores payloads unencrypted. Set PAYLOAD_KEYS to encrypt them, see docs/encryption.md');
}
