import { createServer, type AddressInfo, type Socket } from 'node:net';
import { randomUUID } from 'node:crypto';
import { repliesOfSandbox, type Operation } from './operations.js';

/**
 * A server of prepared replies over plain TCP. It uses almost no CPU, so that the bench measures the implementations.
 * It reads each request to its end and answers by method and path.
 */

const HEAD_END = '\r\n\r\n';

function replyOf(body: string): Buffer {
  const head = [
    'HTTP/1.1 200 OK',
    'Content-Type: application/json; charset=utf-8',
    `X-Request-Id: ${randomUUID()}`,
    'Cache-Control: no-store',
    `Date: ${new Date().toUTCString()}`,
    'Connection: keep-alive',
    'Keep-Alive: timeout=65',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(head.join('\r\n') + HEAD_END + body);
}

function operationOf(head: string): Operation {
  if (head.startsWith('POST ')) return 'create';
  return head.startsWith('GET /v1/charges?') ? 'list' : 'retrieve';
}

function serve(socket: Socket, replies: Readonly<Record<Operation, Buffer>>): void {
  let received = '';
  socket.setNoDelay(true);
  // An implementation that ends may reset its sockets.
  socket.on('error', () => undefined);
  socket.on('data', (bytes) => {
    received += bytes.toString('latin1');
    for (;;) {
      const headEnd = received.indexOf(HEAD_END);
      if (headEnd === -1) return;
      const head = received.slice(0, headEnd);
      const [, length = '0'] = /\r\ncontent-length: *(\d+)/i.exec(head) ?? [];
      const end = headEnd + HEAD_END.length + Number(length);
      if (received.length < end) return;
      socket.write(replies[operationOf(head)]);
      received = received.slice(end);
    }
  });
}

const bodies = await repliesOfSandbox();
const replies = { create: replyOf(bodies.create), retrieve: replyOf(bodies.retrieve), list: replyOf(bodies.list) };
const server = createServer((socket) => serve(socket, replies));
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`server ready http://127.0.0.1:${port}\n`);
});
process.once('SIGTERM', () => process.exit());
