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
