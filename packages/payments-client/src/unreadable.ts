import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { UnexpectedResponseError } from './errors.js';
import { read } from './records.js';

const DIGEST_CHARS = 16;

/**
 * A record of a list that is not of the documented shape, as it came; its neighbours can be read all the same. Take
 * nothing from it but ids, and these only to look something up.
 */
export class UnreadableRecord {
  /** Its own id. Where that cannot be read either: `unreadable_` and a digest, the same for the same record. */
  readonly id: string;

  constructor(
    /** What the provider sent, parsed and not checked: it may be anything. */
    readonly json: unknown,
    /** Which fields do not fit: `unexpected_response`. */
    readonly error: UnexpectedResponseError,
  ) {
    this.id = ownId(json) ?? `unreadable_${digest(json)}`;
  }

  /** Whether {@link id} is the provider's, so that the record can be retrieved by it. */
  get hasOwnId(): boolean {
    return ownId(this.json) !== null;
  }
}

/** The record, or, where it does not fit, what came in its place. @param list verb and path of the list */
export function readTolerantly<T>(schema: z.ZodType<T>, json: unknown, list: string): T | UnreadableRecord {
  const reading = read(schema, json);
  if ('record' in reading) return reading.record;
  const error = new UnexpectedResponseError(`${list}: a record of another shape (${reading.issues}).`, {
    code: 'unexpected_response',
    outcome: 'unknown',
    retryable: false,
    status: 200,
  });
  return new UnreadableRecord(json, error);
}

function ownId(json: unknown): string | null {
  if (typeof json !== 'object' || json === null || !('id' in json)) return null;
  return typeof json.id === 'string' && json.id !== '' ? json.id : null;
}

function digest(json: unknown): string {
  return createHash('sha256').update(JSON.stringify(json)).digest('hex').slice(0, DIGEST_CHARS);
}
