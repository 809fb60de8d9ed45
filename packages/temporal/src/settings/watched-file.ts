import { closeSync, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { FileMistakesError, type Mistake } from './lined-file.js';

const CHECK_EVERY_MS = 300;
/** A file that was written in place, and not replaced, may be half-written. It is read once it stays the same for so long. */
const STILL_MS = 2_000;
const MAX_BYTES = 4_194_304;

/** Learns what became of a file that has changed. */
export type FileListener = {
  /** The new content is in force. */
  readonly changed: () => void;
  /** The new content is wrong, or cannot be read. The last good content stays in force. */
  readonly refused: (mistakes: readonly Mistake[]) => void;
};

type Version = { readonly file: number; readonly text: string };

/**
 * A settings file whose changes take effect while the program runs. A file with mistakes changes nothing: the last good
 * content stays in force. Replace it in one step: write another file, then rename it. Such a file is read once two looks
 * in succession find the same version.
 */
export class WatchedFile<T> {
  #content: T;
  #mistakes: readonly Mistake[] = [];
  /** The version that was read last. */
  #read: Version;
  /** The version that the last check found, and since when, in milliseconds of `performance.now()`. */
  #seen: Version;
  #since = performance.now();
  /** The last check failed, and not because of what the file contains: the next one tries again. */
  #mustRetry = false;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** @throws {FileMistakesError} also when the file cannot be read */
  constructor(
    private readonly path: string,
    private readonly parse: (text: string) => T,
  ) {
    const { version, text } = readNow(path);
    this.#content = parse(text);
    this.#read = version;
    this.#seen = version;
  }

  /** The last good content. */
  get content(): T {
    return this.#content;
  }

  /** Why the present content of the file is not in force. Empty when it is. */
  get mistakes(): readonly Mistake[] {
    return this.#mistakes;
  }

  /** Checks for changes until {@link close}. */
  watch(listener: FileListener): void {
    this.#timer = setTimeout(() => {
      void this.#check(listener).finally(() => {
        if (!this.#isClosed) this.watch(listener);
      });
    }, CHECK_EVERY_MS).unref();
  }

  /** Reads the file again although it has not changed, because another file can change its meaning. */
  readAgain(): void {
    this.#mustRetry = true;
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  /** Never throws: whatever a file contains, the checks go on. */
  async #check({ changed, refused }: FileListener): Promise<void> {
    try {
      if (!(await this.#isSettled())) return;
      const settled = await readSettled(this.path, this.#seen);
      if (settled === null) return;
      const { version, text } = settled;
      this.#read = version;
      this.#content = this.parse(text);
      this.#mistakes = [];
      this.#mustRetry = false;
    } catch (error) {
      const { mistakes } = error instanceof FileMistakesError ? error : unreadable(error);
      this.#mustRetry = !(error instanceof FileMistakesError);
      const isKnown = JSON.stringify(mistakes) === JSON.stringify(this.#mistakes);
      this.#mistakes = mistakes;
      if (!isKnown && !this.#isClosed) refused(mistakes);
      return;
    }
    if (!this.#isClosed) changed();
  }

  /** Whether the file is another one than the one that was read, and stays the same. */
  async #isSettled(): Promise<boolean> {
    const version = versionOf(await stat(this.path));
    const now = performance.now();
    if (version.text !== this.#seen.text) {
      this.#seen = version;
      this.#since = now;
      return false;
    }
    if (version.text === this.#read.text) return this.#mustRetry;
    return version.file !== this.#read.file || now - this.#since >= STILL_MS;
  }
}

function readNow(path: string): { readonly version: Version; readonly text: string } {
  try {
    const file = openSync(path, 'r');
    try {
      const version = versionOf(fstatSync(file));
      return { version, text: readFileSync(file, 'utf8') };
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw unreadable(error);
  }
}

/** Null when the file is not the version that was seen, or changes while it is read: the next look tries again. */
async function readSettled(
  path: string,
  seen: Version,
): Promise<{ readonly version: Version; readonly text: string } | null> {
  const file = await open(path, 'r');
  try {
    const text = await file.readFile('utf8');
    const version = versionOf(await file.stat());
    return version.text === seen.text ? { version, text } : null;
  } finally {
    await file.close();
  }
}

/** @throws {FileMistakesError} for a directory or a device, and for a file that is too large */
function versionOf(stats: Stats): Version {
  const { ino, size, mtimeMs, ctimeMs } = stats;
  if (!stats.isFile()) throw new FileMistakesError([{ line: 0, text: 'it is not a regular file' }]);
  if (size > MAX_BYTES) throw new FileMistakesError([{ line: 0, text: `it has more than ${MAX_BYTES} bytes` }]);
  return { file: ino, text: [ino, size, mtimeMs, ctimeMs].join(' ') };
}

function unreadable(error: unknown): FileMistakesError {
  if (error instanceof FileMistakesError) return error;
  const { code = 'unknown' } = error as NodeJS.ErrnoException;
  return new FileMistakesError([{ line: 0, text: `the file cannot be read (${code})` }]);
}
