import { byPart, type BenchStack, type Part } from './stack.js';
import { untilQuiet } from './speed.js';

/** What so many open runs take. */
export type Size = {
  readonly count: number;
  /** Growth of the database's file by one, in bytes. Its log, of a few megabytes, is not in it. */
  readonly diskBytes: number;
  /** Growth of each process by one, in bytes. Garbage that was not yet collected is in it. */
  readonly memoryBytes: Readonly<Record<Part, number>>;
  /** Memory of each process then. */
  readonly rssBytes: Readonly<Record<Part, number>>;
};

/** What the work that opens `count` runs adds to the database and to each process. */
export async function sizeOf(stack: BenchStack, count: number, open: () => Promise<void>): Promise<Size> {
  await untilQuiet(stack);
  const [before, bytesBefore] = [await stack.usage(), await stack.databaseBytes()];
  await open();
  await untilQuiet(stack);
  const [after, bytesAfter] = [await stack.usage(), await stack.databaseBytes()];
  return {
    count,
    diskBytes: (bytesAfter - bytesBefore) / count,
    memoryBytes: byPart((part) => (after[part].rssBytes - before[part].rssBytes) / count),
    rssBytes: byPart((part) => after[part].rssBytes),
  };
}
