import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** One address in front of several servers, as a load balancer or a Kubernetes service is: it passes bytes on. */
export class LoadBalancer {
  readonly #sockets = new Set<Socket>();
  #next = 0;

  private constructor(
    private readonly server: Server,
    /** `host:port`. */
    readonly address: string,
    private readonly targets: readonly string[],
  ) {}

  /** @param targets each `host:port`; connections go to them in turn, and to the next one where one refuses. */
  static async before(targets: readonly string[]): Promise<LoadBalancer> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const balancer = new LoadBalancer(server, `127.0.0.1:${(server.address() as AddressInfo).port}`, targets);
    server.on('connection', (near) => void balancer.#join(near));
    return balancer;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.server.close();
  }

  async #join(near: Socket): Promise<void> {
    this.#keep(near);
    for (let tries = 0; tries < this.targets.length; tries += 1) {
      const [host = '', port = ''] = (this.targets[this.#next++ % this.targets.length] ?? '').split(':');
      const far = connect(Number(port), host);
      try {
        await once(far, 'connect');
      } catch {
        continue;
      }
      this.#keep(far);
      near.on('close', () => far.destroy());
      far.on('close', () => near.destroy());
      near.pipe(far).pipe(near);
      return;
    }
    near.destroy();
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.#sockets.delete(socket));
  }
}
