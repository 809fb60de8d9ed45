import { readSettings, temporalSettings, type TemporalSettings } from '@tillflow/temporal';
import { z } from 'zod';

/** @throws {SettingsError} with every mistake. */
export function cliSettings(environment: Readonly<Record<string, string | undefined>>): TemporalSettings {
  return readSettings(z.object(temporalSettings), environment);
}
