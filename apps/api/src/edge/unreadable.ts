import { randomUUID } from 'node:crypto';
import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ConnectionError, FastifyInstance } from 'fastify';
import { PROBLEMS, type ProblemCode } from '../problems/catalog.js';
import { problemBody } from '../problems/problem-document.js';
import { Problem } from '../problems/problem.js';
import type { Settings } from '../providers.js';
import { commonHeaders } from './headers.js';

/** What the parser of Node refuses has no request yet, so its answer is written by hand. */
export class Unreadable {
  readonly #answers = new WeakMap<Socket, ServerResponse>();

  constructor(private readonly settings: Settings) {}

  /** Notes what is being answered on which connection, and answers CONNECT, which Node would drop without a word. */
  watch({ server }: Pick<FastifyInstance, 'server'>): void {
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      this.#answers.set(request.socket, response);
    });
    server.on('connect', (_request: IncomingMessage, socket: Socket) => {
      this.#answer(socket, new Problem('invalid_request', 'The API is no proxy'));
    });
  }

  readonly refuse = (error: ConnectionError, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || !socket.writable || this.#isAnswering(socket)) socket.destroy();
    else this.#answer(socket, problemOf(error));
  };

  /**
   * An answer on its way would be torn apart. A request that has arrived may change something, so that the caller must not
   * take this refusal for its answer.
   */
  #isAnswering(socket: Socket): boolean {
    const response = this.#answers.get(socket);
    if (response === undefined || response.writableFinished) return false;
    return response.headersSent || response.req.complete;
  }

  #answer(socket: Socket, problem: Problem): void {
    const { publicUrl } = this.settings;
    const id = randomUUID();
    const body = JSON.stringify(problemBody(problem, { publicUrl, requestId: id }));
    const headers = {
      ...commonHeaders(publicUrl),
      'x-request-id': id,
      'content-type': 'application/problem+json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      connection: 'close',
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n${lines.join('')}\r\n${body}`);
  }
}

const BY_ERROR: Readonly<Record<string, ProblemCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

function problemOf({ code }: ConnectionError): Problem {
  const known = BY_ERROR[code];
  return known === undefined
    ? new Problem('invalid_request', 'The request is not HTTP as this server reads it')
    : new Problem(known, PROBLEMS[known].example);
}
