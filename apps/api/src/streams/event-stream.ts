import { Readable } from 'node:stream';

/** Milliseconds after which a browser whose connection broke comes back. */
const RETRY_MS = 2_000;

/**
 * Server-sent events of one reader. A reader that is slower than the changes gets the newest state, not every one: at
 * most one waits here, so that no reader can make memory grow. Source: HTML standard, "Server-sent events".
 */
export class EventStream extends Readable {
  #isWanted = false;
  #isFinished = false;
  #preface = `retry: ${RETRY_MS}\n\n`;
  #state = '';
  readonly #heartbeat: NodeJS.Timeout;

  /** @param onHeartbeat runs at each heartbeat, also while the reader takes nothing, until the reader has taken the end. */
  constructor(heartbeatMs: number, onHeartbeat: () => void = () => {}) {
    super({ highWaterMark: 1 });
    this.#heartbeat = setInterval(() => {
      this.#beat();
      onHeartbeat();
    }, heartbeatMs);
  }

  /** Takes the place of a state that the reader has not taken yet. @param data one line of text. */
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

  /** Keeps proxies from closing a quiet connection. A reader that still has something to read needs none. */
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

/** Where a stream goes, as far as its end needs it. The socket is null while an earlier answer has it, and at the end. */
export type Connection = {
  /** Bytes that Node still holds, its socket's included. */
  readonly writableLength: number;
  readonly socket: { readonly bytesWritten: number; readonly writableLength: number } | null;
  destroy(): unknown;
};

/** Heartbeats during which a reader may leave everything unread. */
const HEARTBEATS = 3;

/**
 * Whether a reader still reads. The evidence is what the operating system no longer takes: while its buffers have room
 * (up to some megabytes), a reader who reads nothing cannot be told from one who does.
 */
export class ReaderProgress {
  #taken = 0;
  #unread = 0;

  constructor(private readonly connection: Connection) {}

  /** To be asked once a heartbeat. @returns true after three heartbeats with bytes waiting, of which none was taken. */
  hasStopped(): boolean {
    const { socket, writableLength } = this.connection;
    // Node counts in `bytesWritten` what it still holds.
    const taken = socket === null ? 0 : socket.bytesWritten - socket.writableLength;
    this.#unread = writableLength > 0 && taken === this.#taken ? this.#unread + 1 : 0;
    this.#taken = taken;
    return this.#unread >= HEARTBEATS;
  }
}
