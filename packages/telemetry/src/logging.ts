import { pino, type DestinationStream, type Logger } from 'pino';
import { pieceOfWork } from './piece-of-work.js';

/**
 * The ids that connect the log lines of one piece of work: the API's request, the workflow, and the activity that calls
 * the provider. They contain nothing of a payment's content.
 */
export type Correlation = {
  request_id?: string;
  /** Of the request or of the activity, when traces are on. */
  trace_id?: string;
  /** Of its span, when the trace is exported. */
  span_id?: string;
  workflow_id?: string;
  run_id?: string;
  activity?: string;
  activity_id?: string;
  /** The activity's attempt; the first one is 1. */
  attempt?: number;
};

/** Adds these fields to every line that `work` logs, also in what it starts. */
export function correlate<T>(fields: Correlation, work: () => T): T {
  return pieceOfWork.run({ ...pieceOfWork.getStore(), correlation: fields }, work);
}

/** Adds fields to those of the current {@link correlate}; does nothing outside of one. */
export function addCorrelation(fields: Correlation): void {
  Object.assign(correlation(), fields);
}

/** The fields of the current {@link correlate}. */
export function correlation(): Readonly<Correlation> {
  return pieceOfWork.getStore()?.correlation ?? {};
}

/** The fields of a logged object that may contain a caller's text or a secret. */
const NEVER_LOGGED = ['authorization', 'metadata', 'description', 'reason_given', 'raw_data', 'download_uri'];

/**
 * Lines are written in batches, at the latest after this many ms. One write per line would cost as much as the request
 * that it is about.
 */
const FLUSH_MS = 100;
const FLUSH_BYTES = 4_096;

/**
 * A program's log: JSON lines, each with its {@link correlation}. All lines are written before the program ends, also
 * when it ends with an error. After `process.exit` or an error, the last batches may be in another order, because the
 * system may still be writing one of them: sort by `time`. When the program is killed, the lines of the last {@link
 * FLUSH_MS} ms are lost.
 * @param name of the program
 * @param level one of pino's
 * @param destination standard output when left out
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
 * Logs that a program is ready, at any level: its starter waits for this line. `msg` is the program's name and `ready`.
 */
export function logReady(logger: Logger, fields: Readonly<Record<string, string>>): void {
  const { name } = logger.bindings();
  logger.child({}, { level: 'info' }).info(fields, `${String(name)} ready`);
}
