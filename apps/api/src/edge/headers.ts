import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../auth/caller.js';

/** A browser shows nothing of an answer but what the answer itself says. Routes with a page of their own say more. */
const COMMON = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  // Many answers hold links that open without a key.
  'cache-control': 'no-store',
} as const;

/** A year. Source: RFC 6797. */
const OVER_TLS = { 'strict-transport-security': 'max-age=31536000' } as const;

/** The headers of every answer. @param publicUrl says whether clients reach the API by TLS. */
export function commonHeaders(publicUrl: string): Readonly<Record<string, string>> {
  return publicUrl.startsWith('https:') ? { ...COMMON, ...OVER_TLS } : COMMON;
}

/** Sets them before anything else can answer. `protocol` is `https` also behind a trusted proxy that says so. */
export function setCommonHeaders(request: FastifyRequest, reply: FastifyReply, publicUrl: string): void {
  void reply.headers(commonHeaders(publicUrl)).header('x-request-id', request.id);
  if (request.protocol === 'https') void reply.headers(OVER_TLS);
}

/** What the limit leaves to the caller. A count lasts at most a second. */
export function setRateLimitHeaders({ share }: Caller, reply: FastifyReply): void {
  if (share === undefined) return;
  void reply.headers({
    'x-ratelimit-limit': share.limit,
    'x-ratelimit-remaining': share.remaining,
    'x-ratelimit-reset': 1,
  });
}
