import Negotiator from 'negotiator';
import { Problem } from '../problems/problem.js';

/**
 * The media type that an `Accept` header prefers. Source: RFC 9110, section 12.5.1.
 * @param accept the header; a request without it accepts any type
 * @param types the first one is the default
 * @throws {Problem} `not_acceptable`.
 */
export function acceptedType<T extends string>(accept: string | undefined, types: readonly T[]): T {
  // Every text is UTF-8, so a caller may also ask for that.
  const header = accept?.replaceAll(/;\s*charset="?utf-8"?/gi, '');
  const wanted = new Negotiator({ headers: { accept: header } }).mediaType([...types]);
  const type = types.find((each) => each === wanted);
  if (type === undefined) throw new Problem('not_acceptable', `The answer can be ${types.join(', ')}`);
  return type;
}
