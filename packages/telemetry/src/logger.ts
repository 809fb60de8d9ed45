import { pino, type DestinationStream, type Logger } from 'pino';
import { correlation } from './correlation.js';

/** Where a caller's words and secrets could stand in a logged object. They are never worth a look in a log. */
const NEVER_LOGGED = ['authorization', 'metadata', 'description', 'reason_given', 'raw_data', 'download_uri'];

/** Lines are written together, at the latest after so many ms: a write each would cost as much as the line's request. */
const FLUSH_MS = 100;
const FLUSH_BYTES = 4_096;

/**
 * A program's log: JSON lines, each with the ids of what it is about. What was logged is written when the program ends,
 * also by an error; of one that is killed, the last {@link FLUSH_MS} ms are missing.
 * @param name of the program. @param level pino's. @param destination standard output when left out.
 */
export function programLogger(name: string, level: string, destination?: DestinationStream): Logger {
  const options = {
    name,
    level,
    mixin: () => ({ ...correlation() }),
    redact: { paths: NEVER_LOGGED.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]), censor: '[not logged]' },
  };
  return pino(
    options,
    destination ?? pino.destination({ sync: false, minLength: FLUSH_BYTES, periodicFlush: FLUSH_MS }),
  );
}

/**
 * Says that a program is ready, on any level: whoever started it waits for this line. Its `msg` is the program's name and
 * `ready`.
 */
export function logReady(logger: Logger, fields: Readonly<Record<string, string>>): void {
  const { name } = logger.bindings();
  logger.child({}, { level: 'info' }).info(fields, `${String(name)} ready`);
}
