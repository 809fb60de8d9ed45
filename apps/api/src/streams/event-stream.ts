import { Readable } from 'node:stream';

/** Milliseconds after which a browser opens a broken stream again. */
const RETRY_MS = 2_000;

/**
 * Server-sent events for one reader. A reader that is slower than the changes gets the latest state and skips the
 * states before it: at most one waits here, so that a slow reader costs no memory. Source: HTML standard, "Server-sent
 * events".
 */
export class EventStream extends Readable {
  #isWanted = false;
  #isFinished = false;
  #preface = `retry: ${RETRY_MS}\n\n`;
  #state = '';
  readonly #heartbeat: NodeJS.Timeout;

  /**
   * @param onHeartbeat runs at each heartbeat until the reader has read the end, also while the reader reads nothing.
   */
  constructor(heartbeatMs: number, onHeartbeat: () => void = () => {}) {
    super({ highWaterMark: 1 });
    this.#heartbeat = setInterval(() => {
      this.#beat();
      onHeartbeat();
    }, heartbeatMs);
  }

  /** Replaces a state that the reader has not read yet. @param data one line of text. */
  show(event: string, id: number, data: string): void {
    this.#state = `id: ${id}\nevent: ${event}\ndata: ${data}\n\n`;
    if (this.#isWanted) this.#send();
  }

  /** Ends after the newest state. */
  finish(): void {
    if (this.#isFinished) return;
    this.#send();
    this.#isFinished = true;
    this.push(null);
  }

  override _read(): void {
    this.#isWanted = true;
    this.#send();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#isFinished = true;
    clearInterval(this.#heartbeat);
    callback(error);
  }

  /** Keeps proxies from closing a quiet connection. Not needed while the reader has data to read. */
  #beat(): void {
    if (!this.#isWanted || this.#isFinished) return;
    this.#isWanted = false;
    this.push(': still here\n\n');
  }

  #send(): void {
    const text = this.#preface + this.#state;
    if (text === '' || this.#isFinished) return;
    this.#preface = '';
    this.#state = '';
    this.#isWanted = false;
    this.push(text);
  }
}

/** The connection of a stream. The socket is null while an earlier answer uses it, and after the end. */
export type Connection = {
  /** Bytes that Node has not written yet, with those of the socket. */
  readonly writableLength: number;
  readonly socket: { readonly bytesWritten: number; readonly writableLength: number } | null;
  destroy(): unknown;
};

/** Heartbeats after which a reader that reads nothing has stopped. */
const HEARTBEATS = 3;

/**
 * Detects a reader that has stopped reading: the operating system accepts no more bytes. While its buffers have room
 * (up to some megabytes), a reader that reads nothing cannot be detected.
 */
export class ReaderProgress {
  #taken = 0;
  #unread = 0;

  constructor(private readonly connection: Connection) {}

  /** Call it once per heartbeat. @returns true after three heartbeats in which bytes waited and none was written. */
  hasStopped(): boolean {
    const { socket, writableLength } = this.connection;
    // Node's `bytesWritten` includes the bytes that it has not written yet.
    const taken = socket === null ? 0 : socket.bytesWritten - socket.writableLength;
    this.#unread = writableLength > 0 && taken === this.#taken ? this.#unread + 1 : 0;
    this.#taken = taken;
    return this.#unread >= HEARTBEATS;
  }
}
