import { describe, expect, it } from 'vitest';

import { formatLogLine } from './log-line.js';

describe('a line of a service', () => {
  it('is time, level, message and fields when it is a log entry', () => {
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

  it.each(['sandbox ready', '{not json', '{"a":1}', '{"level":30,"time":"soon"}'])(
    'stays as it is otherwise: %s',
    (line) => {
      expect(formatLogLine('worker', line)).toBe(`worker   | ${line}`);
    },
  );
});
