import { pino, type DestinationStream, type Logger } from 'pino';
import { correlation } from './correlation.js';

/** Where a caller's words and secrets could stand in a logged object. They are never worth a look in a log. */
const NEVER_LOGGED = ['authorization', 'metadata', 'description', 'reason_given', 'raw_data', 'download_uri'];

/**
 * A program's log: JSON lines, each with the ids of what it is about.
 * @param name of the program. @param level pino's. @param destination standard output when left out.
 */
export function programLogger(name: string, level: string, destination?: DestinationStream): Logger {
  const options = {
    name,
    level,
    mixin: () => ({ ...correlation() }),
    redact: { paths: NEVER_LOGGED.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]), censor: '[not logged]' },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}
