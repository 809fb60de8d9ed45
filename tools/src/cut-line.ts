import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Which way bytes go: to the server that the line leads to, or back from it. */
type Way = 'there' | 'back';

/** A line to a server that can be cut, frozen, muted or slowed, and mended, as a network does. */
export class CutLine {
  readonly #sockets = new Set<Socket>();
  readonly #forgotten = new WeakSet<Socket>();
  readonly #held: (() => void)[] = [];
  #holds: ReadonlySet<Way> = new Set();
  #delayMs = 0;
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

  /** Breaks the connections, and every new one. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Breaks the connections, and accepts no new one: the server is down. */
  refuse(): void {
    this.cut();
    this.server.close();
  }

  /** Holds all bytes without breaking the connections. The bytes arrive after `mend`. */
  freeze(): void {
    this.#holds = new Set(['there', 'back']);
  }

  /** Bytes on the present connections are lost without an error, as behind a router that forgot them. */
  forget(): void {
    for (const socket of this.#sockets) this.#forgotten.add(socket);
  }

  /** Requests arrive at the server. Its answers arrive after `mend`. */
  mute(): void {
    this.#holds = new Set(['back']);
  }

  /** Each byte takes so many milliseconds longer, each way. */
  slow(delayMs: number): void {
    this.#delayMs = delayMs;
  }

  mend(): void {
    this.#isCut = false;
    this.#delayMs = 0;
    this.#holds = new Set();
    for (const release of this.#held.splice(0)) release();
    if (!this.server.listening) this.server.listen(Number(this.address.split(':')[1]), '127.0.0.1');
  }

  close(): void {
    this.cut();
    this.server.close();
  }

  #join(near: Socket, far: Socket): void {
    for (const [from, to, way] of [
      [near, far, 'there'],
      [far, near, 'back'],
    ] as const) {
      this.#sockets.add(from);
      from.on('error', () => {});
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      from.on('data', (bytes) => {
        if (!this.#forgotten.has(from)) this.#pass(way, () => void (to.destroyed || to.write(bytes)));
      });
    }
    if (this.#isCut) near.destroy();
  }

  #pass(way: Way, write: () => void): void {
    if (this.#holds.has(way)) this.#held.push(write);
    else if (this.#delayMs > 0) setTimeout(write, this.#delayMs);
    else write();
  }
}
