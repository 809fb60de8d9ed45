import { randomUUID } from 'node:crypto';
import { open, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';

/** Bytes per read. */
const CHUNK_BYTES = 65_536;

/** The disk refused a file: `SPOOL_DIR` does not exist, is full, or is not writable. */
export class SpoolError extends Error {
  override readonly name = 'SpoolError';
}

/** Enough bytes to recognize the type of a document. */
const BEGINNING_BYTES = 16;

/**
 * A file on its way to the provider, on disk and not in memory. Its name is removed right after it is opened, so the
 * file disappears when its handle closes or the process ends.
 */
export class SpooledFile {
  private constructor(
    readonly filename: string,
    /** Its first bytes. */
    readonly beginning: Uint8Array,
    private readonly handle: FileHandle,
  ) {}

  /** @throws {SpoolError} and the error of the stream. Then no file is left. */
  static async of(content: Readable, filename: string, directory: string): Promise<SpooledFile> {
    const handle = await onDisk(openNameless(directory));
    try {
      // A stream of the handle would keep it from closing.
      for await (const chunk of content as AsyncIterable<Uint8Array>) await onDisk(handle.appendFile(chunk));
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(BEGINNING_BYTES), 0, BEGINNING_BYTES, 0);
      return new SpooledFile(filename, buffer.subarray(0, bytesRead), handle);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Reads the file from its first byte. It can be called several times. */
  async *read(): AsyncGenerator<Uint8Array, void, undefined> {
    for (let position = 0; ;) {
      const { buffer, bytesRead } = await this.handle.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES, position);
      if (bytesRead === 0) return;
      position += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}

async function openNameless(directory: string): Promise<FileHandle> {
  const path = join(directory, `tillflow-evidence-${randomUUID()}`);
  const handle = await open(path, 'wx+', 0o600);
  await unlink(path);
  return handle;
}

async function onDisk<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new SpoolError('A file could not be stored in SPOOL_DIR', { cause: error });
  }
}
