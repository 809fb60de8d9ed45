import { escapeControls } from '@tillflow/telemetry';

const levels: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
};
/** Fields that the prefix already shows, or that are the same for every line on one machine. */
const hidden = new Set(['level', 'time', 'pid', 'hostname', 'name', 'msg']);

/**
 * Formats one line of a service for people: a JSON line of pino becomes `service | time level message fields`, other
 * text stays. Control characters are escaped, because a message may contain text from the provider.
 */
export function formatLogLine(service: string, line: string): string {
  return escapeControls(format(service, line));
}

/** Escapes the control characters of a text, and keeps its line breaks. */
export function printable(text: string): string {
  return text.split('\n').map(escapeControls).join('\n');
}

function format(service: string, line: string): string {
  const entry = parse(line);
  if (entry === undefined) return `${service.padEnd(8)} | ${line}`;
  const time = new Date(Number(entry['time'])).toISOString().slice(11, 23);
  const level = (levels[Number(entry['level'])] ?? String(entry['level'])).padEnd(5);
  const message = typeof entry['msg'] === 'string' ? entry['msg'] : '';
  const fields = Object.entries(entry).filter(([name]) => !hidden.has(name));
  const text = fields.map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  return [`${service.padEnd(8)} | ${time} ${level} ${message}`, ...text].join(' ').trimEnd();
}

function parse(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const entry: unknown = JSON.parse(line);
    const isLog = typeof entry === 'object' && entry !== null && 'level' in entry && 'time' in entry;
    return isLog && Number.isFinite(Number(entry.time)) ? { ...entry } : undefined;
  } catch {
    return undefined;
  }
}
