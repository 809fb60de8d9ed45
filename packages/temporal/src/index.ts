export type { Payload } from '@temporalio/common';
export { connectionSettings, openTemporal, type ConnectionSettings, type Temporal } from './connection.js';
export { dataConverter, FAILURE_CONVERTER_PATH, isEncrypting, warnIfUnencrypted } from './data-converter.js';
export { EncryptionCodec, UnreadablePayloadError } from './encryption-codec.js';
export type { PayloadKey } from './payload-keys.js';
export {
  flag,
  integer,
  list,
  readSettings,
  SettingsError,
  temporalSettings,
  type TemporalSettings,
} from './settings.js';
export { setUpNamespace, type SetupStep } from './setup.js';
