import { Catch, HttpException, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { ThrottlerException } from '@nestjs/throttler';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Settings } from '../settings.provider.js';
import { PROBLEMS, type ProblemCode } from './catalog.js';
import { Problem } from './problem.js';

/** Every failure leaves the API in one form. What we did not foresee is logged in full and told in none. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(
    private readonly settings: Settings,
    private readonly logger: Logger,
  ) {}

  catch(exception: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    void this.send(exception, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
  }

  /** Also for what fails before any route is known. */
  send(exception: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const { code, status, detail, extra } = toProblem(exception);
    if (status >= 500) this.logger.error({ err: exception, request_id: request.id, code }, 'request failed');
    if (extra.retryAfterSeconds !== undefined) void reply.header('retry-after', extra.retryAfterSeconds);
    if (code === 'unauthorized') void reply.header('www-authenticate', 'Bearer');
    return reply
      .status(status)
      .header('x-request-id', request.id)
      .type('application/problem+json; charset=utf-8')
      .send({
        type: `${this.settings.publicUrl}/errors/${code}`,
        title: PROBLEMS[code].title,
        status,
        code,
        detail,
        request_id: request.id,
        ...(extra.errors === undefined ? {} : { errors: extra.errors }),
        ...(extra.providerCode === undefined ? {} : { provider_code: extra.providerCode }),
      });
  }
}

const BY_STATUS: Readonly<Record<number, ProblemCode>> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  413: 'body_too_large',
  415: 'unsupported_media_type',
  429: 'rate_limited',
};

function toProblem(exception: unknown): Problem {
  if (exception instanceof Problem) return exception;
  if (exception instanceof ThrottlerException) {
    return new Problem('rate_limited', 'More requests than this key may make in a second', { retryAfterSeconds: 1 });
  }
  const status = statusOf(exception);
  if (status === null || status >= 500) return new Problem('internal_error', 'The failure was logged under request_id');
  const code = BY_STATUS[status] ?? 'invalid_request';
  // The framework repeats the address, and with it a signature that may be in it.
  if (code === 'not_found') return new Problem(code, 'No route has this method and path');
  return new Problem(code, exception instanceof Error ? exception.message : PROBLEMS[code].title);
}

/** Nest's exceptions have a method, Fastify's parser errors a field. */
function statusOf(exception: unknown): number | null {
  if (exception instanceof HttpException) return exception.getStatus();
  if (exception instanceof Error && 'statusCode' in exception && typeof exception.statusCode === 'number') {
    return exception.statusCode;
  }
  return null;
}
