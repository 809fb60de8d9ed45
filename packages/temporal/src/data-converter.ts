import { fileURLToPath } from 'node:url';
import type { DataConverter } from '@temporalio/common';
import { EncryptionCodec } from './encryption-codec.js';
import type { TemporalSettings } from './settings.js';

/** What a bundle of workflows must be built with to run where payloads are encrypted. */
export const FAILURE_CONVERTER_PATH = fileURLToPath(new URL('failure-converter.cjs', import.meta.url));

type Keys = Pick<TemporalSettings, 'PAYLOAD_KEYS'>;

export function isEncrypting({ PAYLOAD_KEYS: keys }: Keys): boolean {
  return keys !== undefined;
}

/** How values become what Temporal stores: one converter for every program that reads or writes a workflow. */
export function dataConverter(settings: Keys): DataConverter {
  return {
    // Also without keys: a payload that is encrypted all the same is then refused in words.
    payloadCodecs: [new EncryptionCodec(settings.PAYLOAD_KEYS ?? [])],
    ...(isEncrypting(settings) ? { failureConverterPath: FAILURE_CONVERTER_PATH } : {}),
  };
}

/** Says once, at start, that whoever reads Temporal's store reads everything. */
export function warnIfUnencrypted(settings: Keys, logger: { warn(message: string): void }): void {
  if (isEncrypting(settings)) return;
  logger.warn('payloads are stored unencrypted in Temporal: set PAYLOAD_KEYS to change it, see docs/encryption.md');
}
