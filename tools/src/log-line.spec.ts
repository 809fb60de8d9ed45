import { describe, expect, it } from 'vitest';

import { formatLogLine } from './log-line.js';

describe('a formatted line of a service', () => {
  it('shows time, level, message and fields of a log entry', () => {
    const entry = {
      level: 40,
      time: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
      pid: 1,
      name: 'api',
      status: 503,
      route: '/x',
      msg: 'slow',
    };
    expect(formatLogLine('api', JSON.stringify(entry))).toBe('api      | 03:04:05.006 warn  slow status=503 route=/x');
  });

  it.each([
    ['of a log entry', JSON.stringify({ level: 50, time: 0, msg: '\u001b[2J', failure: 'a\r\nb', more: ['\u202e'] })],
    ['of other text', '\u001b]0;owned\u0007 \u009b2J \u202e'],
  ])('escapes the control characters %s', (_what, line) => {
    const shown = formatLogLine('worker', line);
    expect(shown).not.toMatch(/[\p{Cc}\u202e]/u);
    expect(shown).toContain('\\u001b');
    expect(shown).toContain('\\u202e');
  });

  it.each(['sandbox ready', '{not json', '{"a":1}', '{"level":30,"time":"soon"}'])(
    'keeps a line that is not a log entry: %s',
    (line) => {
      expect(formatLogLine('worker', line)).toBe(`worker   | ${line}`);
    },
  );
});
