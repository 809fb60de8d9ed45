import { OWN_KEY_PREFIX } from '@tillflow/domain';
import { Problem } from '../problems/problem.js';
import { keyText } from './fields.schema.js';

export const idempotencyKeyHeader = keyText
  .refine((key) => !key.startsWith(OWN_KEY_PREFIX), `must not begin with ${OWN_KEY_PREFIX}`)
  .meta({ pattern: `^(?!${OWN_KEY_PREFIX})[\\x21-\\x7e]{1,128}$`, examples: ['return-17'] });

/** @throws {Problem} `idempotency_key_required`, `invalid_request`. */
export function idempotencyKey(header: string | undefined): string {
  if (header === undefined || header === '') {
    throw new Problem('idempotency_key_required', 'Send Idempotency-Key: <a name for this request, new for each>');
  }
  const { success, data, error } = idempotencyKeyHeader.safeParse(header);
  if (success) return data;
  const errors = error.issues.map(({ message }) => ({ path: 'Idempotency-Key', message }));
  throw new Problem('invalid_request', 'See errors', { errors });
}

/** @returns null without the header. @throws {Problem} as `idempotencyKey` does. */
export function optionalIdempotencyKey(header: string | undefined): string | null {
  return header === undefined ? null : idempotencyKey(header);
}
