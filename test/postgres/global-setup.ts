import { TemporalOnPostgres } from '@tillflow/tools/postgres';
import type { TestProject } from 'vitest/node';

/** One server is enough for the specs of the product; the specs that kill have two of their own. */
const SERVERS = 1;
const MAX_CONNECTIONS = 140;

/** The installation at `TEMPORAL_ADDRESS`, or one of this run. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { TEMPORAL_ADDRESS: address = '' } = process.env;
  if (address !== '') {
    project.provide('temporalAddress', address);
    return () => Promise.resolve();
  }
  const log = (line: string): void => void process.stdout.write(`${line}\n`);
  const installation = await TemporalOnPostgres.start({
    servers: SERVERS,
    maxConnections: MAX_CONNECTIONS,
    env: process.env,
    log,
  });
  project.provide('temporalAddress', installation.addresses[0] ?? '');
  return () => installation.stop();
}
