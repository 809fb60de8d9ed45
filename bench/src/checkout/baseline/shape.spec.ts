import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { HistoryEvent } from '../histories.js';
import { inputBytesOf, memoBytesOf, shapeOf } from './shape.js';
import { filler, padded } from './steps.js';

const PAID = JSON.parse(readFileSync(new URL('../../../histories/paid.json', import.meta.url), 'utf8')) as readonly {
  readonly events: readonly HistoryEvent[];
}[];

describe('the bare shape of a paid checkout', () => {
  it('has the steps of the runs, in order', () => {
    expect(shapeOf(PAID).map((steps) => steps.map(([kind]) => kind))).toEqual([
      ['call', 'call', 'answer', 'memo', 'wait', 'call', 'continue'],
      ['sleep'],
    ]);
  });

  it('has the sizes of the payloads', () => {
    const [first] = shapeOf(PAID);
    const sizes = (first ?? []).flatMap(([, ...bytes]) => bytes);
    expect(sizes.every((bytes) => bytes > 0 && bytes < 4_000)).toBe(true);
    expect(PAID.map((run) => inputBytesOf(run) > 0 && memoBytesOf(run) > 0)).toEqual([true, true]);
    expect(inputBytesOf(undefined)).toBe(0);
  });

  it('cannot be read from a history with an event that no step produces', () => {
    const events = [{ startChildWorkflowExecutionInitiatedEventAttributes: {} }];
    expect(() => shapeOf([{ events }])).toThrow('No step produces startChildWorkflowExecutionInitiated');
  });
});

describe('padding of a payload', () => {
  it('makes a text and a shape as many bytes of JSON as requested', () => {
    expect(JSON.stringify(filler(100))).toHaveLength(100);
    expect(JSON.stringify(padded({ runs: [[['memo', 5]]], waitMs: 50 }, 300))).toHaveLength(300);
  });

  it('never shortens a shape', () => {
    const runs = [[['call', 1, 2] as const]];
    expect(padded({ runs, waitMs: 0 }, 3)).toEqual({ runs, waitMs: 0, padding: '' });
  });
});
