import type { IncomingMessage } from 'node:http';
import { Problem } from '../problems/problem.js';

const HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/**
 * Two parts of a system that read different hosts out of one request can be played off against each other.
 * HTTP/1.0 has no host. Source: RFC 9112, section 3.2.
 * @throws {Problem} `invalid_request`
 */
export function mustHaveOneHost({ rawHeaders, headers, httpVersion }: IncomingMessage): void {
  const count = countOf('host', rawHeaders);
  if (count === 0 && httpVersion === '1.0') return;
  if (count !== 1) throw new Problem('invalid_request', `The request has ${count} Host headers instead of one`);
  if (!HOST.test(headers.host ?? '')) throw new Problem('invalid_request', 'The Host header names no host');
}

/** How often a header was sent. Node keeps only the first of some. @param name in lower case */
export function countOf(name: string, rawHeaders: readonly string[]): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) if (rawHeaders[at]?.toLowerCase() === name) count += 1;
  return count;
}
