import { Problem } from '../problems/problem.js';

const VERSION = /^\d{1,15}$/;

/**
 * The version in a `Last-Event-ID`, or null without one.
 * @throws {Problem} `invalid_request` for what is none of our ids.
 */
export function lastEventId(header: string | undefined): number | null {
  if (header === undefined || header === '') return null;
  if (VERSION.test(header)) return Number(header);
  throw new Problem('invalid_request', 'See errors', {
    errors: [{ path: 'Last-Event-ID', message: 'must be the id of an event of this stream' }],
  });
}
