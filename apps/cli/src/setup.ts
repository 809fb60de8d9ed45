import { openTemporal, setUpNamespace, type SetupStep, type TemporalSettings } from '@tillflow/temporal';
import { searchAttributes } from '@tillflow/workflows';

const WITHIN_MS = 10_000;

/** Makes the namespace ready; repeats without effect. */
export async function setup(settings: TemporalSettings, options: { readonly dryRun: boolean }): Promise<SetupStep[]> {
  const temporal = await openTemporal(settings);
  try {
    return await temporal.connection.withDeadline(Date.now() + WITHIN_MS, () =>
      setUpNamespace(temporal, Object.values(searchAttributes), options),
    );
  } finally {
    await temporal.close();
  }
}
