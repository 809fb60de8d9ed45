import { z } from 'zod';
import { Problem } from '../problems/problem.js';

/** A browser may send the header without a value before the first event. */
export const lastEventIdHeader = z
  .string()
  .regex(/^\d{0,15}$/, 'must be the id of an event of this stream')
  .meta({ examples: ['2'] });

/**
 * The version in a `Last-Event-ID`, or null without one.
 * @throws {Problem} `invalid_request` when it is not the id of an event.
 */
export function lastEventId(header: string | undefined): number | null {
  if (header === undefined || header === '') return null;
  const { success, data, error } = lastEventIdHeader.safeParse(header);
  if (success) return Number(data);
  const errors = error.issues.map(({ message }) => ({ path: 'Last-Event-ID', message }));
  throw new Problem('invalid_request', 'See errors', { errors });
}
