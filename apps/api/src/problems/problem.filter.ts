import { Catch, HttpException, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Caller } from '../auth/caller.js';
import type { Settings } from '../providers.js';
import { PROBLEMS, type ProblemCode } from './catalog.js';
import { Problem, problemBody } from './problem.js';

/**
 * Turns every failure into a problem document. The log has the details of an unexpected failure, the answer has none.
 */
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

  /** Also for failures before the route is known. */
  send(exception: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const problem = toProblem(exception);
    const { code, status, extra } = problem;
    (request as Caller).problem = code;
    this.#log(exception, problem, request.id);
    if (extra.retryAfterSeconds !== undefined) void reply.header('retry-after', extra.retryAfterSeconds);
    if (code === 'unauthorized') void reply.header('www-authenticate', 'Bearer');
    return reply
      .status(status)
      .type('application/problem+json; charset=utf-8')
      .send(problemBody(problem, { publicUrl: this.settings.publicUrl, requestId: request.id }));
  }

  /** A refusal that the API makes on purpose has no stack: there may be many of them in a second. */
  #log(err: unknown, { code, status, cause }: Problem, request_id: string): void {
    if (status === 500) this.logger.error({ err, request_id, code }, 'request failed');
    else if (status > 500)
      this.logger.warn({ request_id, code, ...(cause === undefined ? {} : { err }) }, 'request failed');
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

/** The framework's own texts are not used: some contain the address, which may have a signature. */
const DETAILS: Readonly<Record<string, string>> = {
  FST_ERR_BAD_URL: 'The path cannot be decoded',
  FST_ERR_MAX_PARAM_LENGTH: 'A part of the path is too long',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'The body is not as long as Content-Length says',
};

function toProblem(exception: unknown): Problem {
  if (exception instanceof Problem) return exception;
  const status = statusOf(exception);
  if (status === null || status >= 500)
    return new Problem('internal_error', 'The API logged the failure under this request_id');
  const code = BY_STATUS[status] ?? 'invalid_request';
  if (code === 'not_found') return new Problem(code, 'No route has this path');
  const detail = exception instanceof Error && 'code' in exception ? DETAILS[String(exception.code)] : undefined;
  return new Problem(code, detail ?? PROBLEMS[code].title);
}

/** Nest's exceptions have a method, Fastify's parser errors a field. */
function statusOf(exception: unknown): number | null {
  if (exception instanceof HttpException) return exception.getStatus();
  if (exception instanceof Error && 'statusCode' in exception && typeof exception.statusCode === 'number') {
    return exception.statusCode;
  }
  return null;
}
