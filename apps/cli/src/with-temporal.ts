import {
  Checkouts,
  isTemporalFailure,
  openTemporal,
  whyUnreachable,
  within,
  type Temporal,
  type TemporalSettings,
} from '@tillflow/temporal';
import { UnreachableError } from './exit.js';

const REACH_WITHIN_MS = 5_000;
/** An operator waits longer than a till. */
export const READ_WITHIN_MS = 10_000;

export type Engine = { readonly temporal: Temporal; readonly checkouts: Checkouts };

/**
 * Opens Temporal for one piece of work, and closes it whatever came of it.
 * @throws {UnreachableError} when it is not there, or has no such namespace, or does not let us: nothing was done.
 */
export async function withTemporal<T>(settings: TemporalSettings, work: (engine: Engine) => Promise<T>): Promise<T> {
  const temporal = await openTemporal(settings);
  try {
    await reach(temporal, settings);
    return await work({ temporal, checkouts: new Checkouts(temporal, { readWithinMs: READ_WITHIN_MS }) });
  } finally {
    await temporal.close();
  }
}

async function reach({ connection, lastFailure }: Temporal, settings: TemporalSettings): Promise<void> {
  const { TEMPORAL_NAMESPACE: namespace } = settings;
  try {
    await within(connection, REACH_WITHIN_MS, () => connection.workflowService.describeNamespace({ namespace }));
  } catch (error) {
    if (!isTemporalFailure(error)) throw error;
    throw new UnreachableError(whyUnreachable(error, settings, lastFailure()));
  }
}
