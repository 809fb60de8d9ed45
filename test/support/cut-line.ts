import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A line to a server that can be cut and mended, as a network does. */
export class CutLine {
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  private constructor(
    private readonly server: Server,
    readonly address: string,
  ) {}

  /** @param target `host:port`. */
  static async to(target: string): Promise<CutLine> {
    const [host = '', port = ''] = target.split(':');
    const server = createServer();
    await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
    const line = new CutLine(server, `127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.on('connection', (near) => line.#join(near, connect(Number(port), host)));
    return line;
  }

  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.#isCut = false;
  }

  close(): void {
    this.cut();
    this.server.close();
  }

  #join(near: Socket, far: Socket): void {
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(from);
      from.on('error', () => {});
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
    if (this.#isCut) near.destroy();
  }
}
