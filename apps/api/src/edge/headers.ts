import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../auth/caller.js';
import { Problem } from '../problems/problem.js';

/**
 * By default, browsers must not guess the type of an answer, show it in a frame, or store it. Routes with a page permit
 * more.
 */
const COMMON = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  // Many answers contain links that work without a key.
  'cache-control': 'no-store',
} as const;

/** A year. Source: RFC 6797. */
const OVER_TLS = { 'strict-transport-security': 'max-age=31536000' } as const;

/** The headers of every answer. @param publicUrl shows whether clients use TLS. */
export function commonHeaders(publicUrl: string): Readonly<Record<string, string>> {
  return publicUrl.startsWith('https:') ? { ...COMMON, ...OVER_TLS } : COMMON;
}

/** Sets the common headers. `protocol` is also `https` when a trusted proxy says so. */
export function setCommonHeaders(request: FastifyRequest, reply: FastifyReply, publicUrl: string): void {
  void reply.headers(commonHeaders(publicUrl)).header('x-request-id', request.id);
  if (request.protocol === 'https') void reply.headers(OVER_TLS);
}

/** The rate-limit headers: how many requests the caller can still make. A count lasts at most a second. */
export function setRateLimitHeaders({ share }: Caller, reply: FastifyReply): void {
  if (share === undefined) return;
  void reply.headers({
    'x-ratelimit-limit': share.limit,
    'x-ratelimit-remaining': share.remaining,
    'x-ratelimit-reset': 1,
  });
}

const HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/**
 * If a proxy and the API read different hosts out of one request, an attacker can use the difference. HTTP/1.0 has no
 * host. Source: RFC 9112, section 3.2.
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
