import { createHash } from 'node:crypto';
import { z } from 'zod';
import { UnexpectedResponseError } from '../errors.js';

export type RecordReading<T> = { readonly record: T } | { readonly issues: string };

const MAX_ISSUES = 5;
const DIGEST_CHARS = 16;

/** Each schema's compiled form, made when it is first needed. Without `eval`, zod hands back the schema itself. */
const compiled = new WeakMap<z.ZodType, z.ZodType>();

/**
 * Checks the fields that decisions rest on and returns the parsed JSON itself, not the parser's copy: fields that the
 * schema does not name survive, and nothing is copied. So schemas must not transform.
 */
export function readRecord<T>(schema: z.ZodType<T>, json: unknown): RecordReading<T> {
  // The schema has just accepted it as a T.
  if (compiledOf(schema).validate(json)) return { record: json as T };
  const parsed = schema.safeParse(json);
  if (parsed.success) return { record: json };
  const issues = parsed.error.issues
    .slice(0, MAX_ISSUES)
    .map((issue) => `${issue.path.join('.') || 'body'}: ${issue.message}`);
  return { issues: issues.join('; ') };
}

function compiledOf(schema: z.ZodType): z.ZodType {
  let form = compiled.get(schema);
  if (form === undefined) {
    form = z.compile(schema);
    compiled.set(schema, form);
  }
  return form;
}

/**
 * A record of a list that does not have the documented shape, as the provider sent it. Take nothing from it but ids,
 * and use these only to look something up.
 */
export class UnreadableRecord {
  /**
   * The record's own id, or, where that cannot be read either, `unreadable_` and a digest: the same for the same
   * record.
   */
  readonly id: string;

  constructor(
    /** What the provider sent, parsed and not checked: it may be anything. */
    readonly json: unknown,
    /** Names the fields that have another shape. Its code is `unexpected_response`. */
    readonly error: UnexpectedResponseError,
  ) {
    this.id = ownId(json) ?? `unreadable_${digest(json)}`;
  }

  /** Whether {@link id} is the provider's, so that the record can be retrieved by it. */
  get hasOwnId(): boolean {
    return ownId(this.json) !== null;
  }
}

/** A record, or an {@link UnreadableRecord} in its place. @param list verb and path of the list */
export function readTolerantly<T>(schema: z.ZodType<T>, json: unknown, list: string): T | UnreadableRecord {
  const reading = readRecord(schema, json);
  if ('record' in reading) return reading.record;
  const message = `${list}: a record does not have the documented shape (${reading.issues}).`;
  const error = new UnexpectedResponseError(message, {
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
