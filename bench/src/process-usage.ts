import { readFile } from 'node:fs/promises';
import type { Usage } from './usage-reporter.js';

/** Clock ticks per second in /proc: fixed by Linux's interface to programs. Source: proc(5), sysconf(3). */
const TICKS = 100;
const PAGE_BYTES = 4_096;

/** What a process that is not ours to load code into has used; null where there is no /proc. */
export async function usageOfProcess(pid: number): Promise<Usage | null> {
  let stat: string;
  try {
    stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return null;
  }
  // The name, in brackets, may contain anything; the third field comes after the last bracket.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const field = (number: number): number => Number(fields[number - 3]);
  return { cpuSeconds: (field(14) + field(15)) / TICKS, rssBytes: field(24) * PAGE_BYTES };
}

/** CPU that all processes of the machine together have used, in seconds; null where there is no /proc. */
export async function usedByAll(): Promise<number | null> {
  let stat: string;
  try {
    stat = await readFile('/proc/stat', 'utf8');
  } catch {
    return null;
  }
  const [, user = 0, nice = 0, system = 0] = (stat.split('\n')[0] ?? '').split(/\s+/).map(Number);
  return (user + nice + system) / TICKS;
}
