export { connectionSettings, openTemporal, type ConnectionSettings, type Temporal } from './connection.js';
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
