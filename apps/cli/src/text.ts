import { escapeControls } from '@tillflow/telemetry';

/** Aligns rows in columns with two blanks between them. Escapes control characters. */
export function columns(raw: readonly (readonly string[])[]): string[] {
  const rows = raw.map((row) => row.map(escapeControls));
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length);
  }
  return rows.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** A time to the second in UTC, or a dash for null. @param time ISO 8601 UTC. */
export function utc(time: string | null): string {
  return time === null ? '-' : time.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC');
}

/**
 * The time since `time`, in the largest unit that fits: `3 min`, `2 d`. @param time ISO 8601 UTC. @param now
 * milliseconds.
 */
export function ago(time: string, now: number): string {
  const seconds = Math.max(0, Math.floor((now - Date.parse(time)) / 1_000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}
