import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/**
 * Limits the time in which the body of a request arrives. Node's own `requestTimeout` has one value for all routes, and
 * Node checks it rarely.
 * @param onSlow runs when the body is not complete in time.
 */
export function boundArrival(request: IncomingMessage, withinMs: number, onSlow: () => void): void {
  if (!hasBody(request)) return;
  const timer = setTimeout(() => {
    if (!request.complete) onSlow();
  }, withinMs);
  timer.unref();
  const stop = (): void => clearTimeout(timer);
  request.once('end', stop).once('close', stop);
}

export function hasBody({ headers }: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers;
  return encoding !== undefined || (length !== undefined && length !== '0');
}

/**
 * Node would ask for the body of every request with `Expect: 100-continue`, and answer any other expectation with an
 * empty 417. The API handles each like any other request: its headers decide. Source: RFC 9110, section 10.1.1.
 */
export function decideExpectations({ server }: Pick<FastifyInstance, 'server'>): void {
  for (const event of ['checkContinue', 'checkExpectation'] as const) {
    server.on(event, (request, response) => void server.emit('request', request, response));
  }
}

/** Call it for an admitted request: its sender may wait for this before it sends the body. */
export function askForBody({ headers }: IncomingMessage, response: ServerResponse): void {
  if (headers.expect?.toLowerCase() === '100-continue') response.writeContinue();
}

/** Node emits no `close` for an answer that waits behind another one when their connection ends. */
function closeAll(answers: ReadonlySet<ServerResponse>): void {
  for (const answer of answers) {
    answer.destroy();
    if (answers.has(answer)) answer.emit('close');
  }
}

/**
 * Closes at shutdown the connections without a request: browsers open them in advance, and Node counts them as busy
 * until its header timeout of a minute. A request under way is answered, and its connection closes with the answer:
 * otherwise Node would wait for the next request on it, for more than a minute.
 */
export function closeConnections(server: Pick<FastifyInstance, 'addHook' | 'server'>): void {
  const unused = new Set<Socket>();
  const answersOn = new Map<Socket, Set<ServerResponse>>();
  let isClosing = false;
  server.server.on('connection', (socket) => {
    unused.add(socket);
    const answers = new Set<ServerResponse>();
    answersOn.set(socket, answers);
    socket.once('close', () => {
      unused.delete(socket);
      answersOn.delete(socket);
      setImmediate(() => closeAll(answers));
    });
    if (isClosing) socket.destroy();
  });
  server.server.on('request', ({ socket }, response) => {
    unused.delete(socket);
    const answers = answersOn.get(socket);
    answers?.add(response);
    response.once('close', () => answers?.delete(response));
  });
  server.addHook('preClose', (done) => {
    isClosing = true;
    for (const socket of unused) socket.destroy();
    for (const answers of answersOn.values()) {
      for (const answer of answers) if (!answer.headersSent) answer.setHeader('connection', 'close');
    }
    done();
  });
}
