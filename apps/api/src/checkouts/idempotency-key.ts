import { OWN_KEY_PREFIX } from '@tillflow/domain';
import { Problem } from '../problems/problem.js';

/** Visible ASCII. A space or comma-and-space would be two headers joined. */
const KEY = /^[\x21-\x7e]{1,128}$/;

/** @throws {Problem} `idempotency_key_required`, `invalid_request`. */
export function idempotencyKey(header: string | undefined): string {
  if (header === undefined || header === '') {
    throw new Problem('idempotency_key_required', 'Send Idempotency-Key: <a name for this request, new for each>');
  }
  if (!KEY.test(header)) throw malformed('must be 1 to 128 visible ASCII characters');
  if (header.startsWith(OWN_KEY_PREFIX)) throw malformed(`must not begin with ${OWN_KEY_PREFIX}`);
  return header;
}

/** @returns null where no header was sent. @throws {Problem} as `idempotencyKey` does, for one that is no key. */
export function optionalIdempotencyKey(header: string | undefined): string | null {
  return header === undefined ? null : idempotencyKey(header);
}

function malformed(message: string): Problem {
  return new Problem('invalid_request', 'See errors', { errors: [{ path: 'Idempotency-Key', message }] });
}
