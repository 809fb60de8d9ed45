import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';

/** A file that the API serves to everyone, prepared once. */
export type StaticPage = {
  readonly path: string;
  readonly type: string;
  readonly bytes: Buffer;
  /** The same compressed, where that is shorter. */
  readonly gzip?: Buffer | null;
  /** Of the page; absent: the policy of every answer, which permits nothing. */
  readonly policy?: string;
  readonly headers?: Readonly<Record<string, string>>;
};

export function servePage(server: FastifyInstance, { path, type, bytes, gzip, policy, headers }: StaticPage): void {
  const etag = `"${createHash('sha256').update(bytes).digest('base64url')}"`;
  server.get(path, { config: { access: { scope: null } } }, (request, reply) => {
    void reply.headers({ etag, 'cache-control': 'no-cache', ...headers });
    if (policy !== undefined) void reply.header('content-security-policy', policy);
    if (isKnown(request.headers['if-none-match'], etag)) return reply.status(304).send();
    if (!gzip) return reply.type(type).send(bytes);
    void reply.header('vary', 'Accept-Encoding');
    if (!acceptsGzip(request.headers['accept-encoding'])) return reply.type(type).send(bytes);
    return reply.type(type).header('content-encoding', 'gzip').send(gzip);
  });
}

/** Source: RFC 9110, section 13.1.2. */
function isKnown(given: string | undefined, etag: string): boolean {
  if (given === undefined) return false;
  return given.split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === etag);
}

/** Browsers name it without a weight. Source: RFC 9110, section 12.5.3. */
function acceptsGzip(given: string | string[] | undefined): boolean {
  return /(?:^|,)\s*gzip\s*(?:,|$)/i.test(String(given ?? ''));
}
