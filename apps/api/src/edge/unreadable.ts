import { randomUUID } from 'node:crypto';
import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ConnectionError, FastifyInstance } from 'fastify';
import { PROBLEMS, type ProblemCode } from '../problems/catalog.js';
import { Problem, problemBody } from '../problems/problem.js';
import type { Settings } from '../providers.js';
import { commonHeaders } from './headers.js';

/** Answers requests that Node's parser refuses. They have no request object, so the answer is written to the socket. */
export class Unreadable {
  readonly #answers = new WeakMap<Socket, ServerResponse>();

  constructor(private readonly settings: Settings) {}

  /**
   * Remembers the answer in progress on each connection, and answers CONNECT, which Node would close without an answer.
   */
  watch({ server }: Pick<FastifyInstance, 'server'>): void {
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      this.#answers.set(request.socket, response);
    });
    server.on('connect', (_request: IncomingMessage, socket: Socket) => {
      // Node has given the socket away: it watches neither for its errors nor for its end, and has no timeout.
      socket.on('error', () => socket.destroy());
      socket.once('finish', () => socket.destroy());
      socket.setTimeout(this.settings.values.REQUEST_TIMEOUT_MS, () => socket.destroy());
      if (this.#isAnswering(socket)) socket.destroy();
      else this.#answer(socket, new Problem('invalid_request', 'The API is not a proxy'));
    });
  }

  readonly refuse = (error: ConnectionError, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || !socket.writable || this.#isAnswering(socket)) socket.destroy();
    else this.#answer(socket, problemOf(error));
  };

  /**
   * A refusal at this point would corrupt an answer in progress. That request may change something, and its caller must
   * not mistake this refusal for its answer.
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
    ? new Problem('invalid_request', 'The request is not valid HTTP')
    : new Problem(known, PROBLEMS[known].example);
}
