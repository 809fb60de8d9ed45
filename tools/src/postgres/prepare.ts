import { Database } from './database.js';
import { NotAvailableError } from './not-available-error.js';
import { findInstalledPostgres, selectRow } from './postgres-programs.js';
import { findTemporalPrograms, type ProgramSearch } from './temporal-programs.js';

/** The exit code when a program is missing, and cannot be downloaded or built. */
const NOT_TRIED = 77;
const USAGE = 2;

const CONNECTIONS = `SELECT count(*), current_setting('max_connections') FROM pg_stat_activity WHERE datname LIKE 'temporal%'`;

/**
 * Downloads and builds what `pnpm test:postgres` needs, before the tests. Of an installation that `TEMPORAL_ADDRESS` and
 * `POSTGRES_URL` name, it only counts the connections.
 */
async function main(): Promise<number> {
  const { env } = process;
  const { TEMPORAL_ADDRESS: address = '', POSTGRES_URL: url = '' } = env;
  if (address === '' && url === '') return prepare({ env, log: (line) => console.log(line) });
  if (address !== '' && url !== '') return look(address, url);
  console.error('Set both TEMPORAL_ADDRESS and POSTGRES_URL, to test a running installation, or neither.');
  return USAGE;
}

async function prepare(search: ProgramSearch): Promise<number> {
  // process.exit runs the exit handlers, which end children and remove unfinished work.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(130));
  try {
    const database = await Database.start({ ...search, maxConnections: 10 });
    const [postgres] = await database.select('SHOW server_version');
    await database.stop();
    const temporal = await findTemporalPrograms(search);
    console.log(`Testing Temporal ${temporal.version} on PostgreSQL ${postgres}.`);
    return 0;
  } catch (error) {
    if (!(error instanceof NotAvailableError)) throw error;
    console.error(`NOT TRIED: ${error.message.replaceAll('\n', ' ')}. Temporal on PostgreSQL was not tested.`);
    return NOT_TRIED;
  }
}

async function look(address: string, url: string): Promise<number> {
  const programs = await findInstalledPostgres(process.env);
  if (programs === undefined) {
    console.error('NOT TRIED: psql is not installed here. The running installation was not tested.');
    return NOT_TRIED;
  }
  const [used, most] = await selectRow(programs, url, CONNECTIONS);
  if (used === '0') {
    console.error('POSTGRES_URL names a PostgreSQL without connections to a database temporal*. Correct it.');
    return USAGE;
  }
  console.log(`Testing the running Temporal at ${address}. It uses ${used} of ${most} connections. Nothing is killed.`);
  return 0;
}

process.exit(await main());
