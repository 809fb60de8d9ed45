import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { traceparentIn, withTraceparent } from './trace-header.js';
import { spanIdOf } from './workflow-span.js';

const hex = (digits: number) =>
  fc.string({ unit: fc.constantFrom(...Array.from('0123456789abcdef')), minLength: digits, maxLength: digits });

describe('the id of a span in a workflow', () => {
  it('is 16 hexadecimal digits, the same at every replay', () => {
    fc.assert(
      fc.property(hex(16), fc.string(), (parent, text) => {
        expect(spanIdOf(parent, text)).toMatch(/^[0-9a-f]{16}$/);
        expect(spanIdOf(parent, text)).toBe(spanIdOf(parent, text));
      }),
    );
  });

  it('differs from its parent, for another parent and for another message', () => {
    const parents = ['00f067aa0ba902b7', '00f067aa0ba902b8', 'ffffffffffffffff'];
    const texts = ['run-1 RunWorkflow:checkout', 'run-2 RunWorkflow:checkout', 'run-1 HandleSignal:hint', ''];
    const ids = parents.flatMap((parent) => texts.map((text) => spanIdOf(parent, text)));
    expect(new Set([...ids, ...parents]).size).toBe(parents.length * texts.length + parents.length);
  });
});

describe('the header of a message', () => {
  it('brings the traceparent to its reader', () => {
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    expect(traceparentIn(withTraceparent({}, traceparent))).toBe(traceparent);
  });

  it.each(['', 'text', '00-A-b-01', `01-${'a'.repeat(32)}-${'b'.repeat(16)}-01`])(
    'is ignored with %j in it',
    (text) => {
      expect(traceparentIn(withTraceparent({}, text))).toBeUndefined();
    },
  );

  it('is ignored when it is not readable', () => {
    const metadata = { encoding: Buffer.from('binary/encrypted') };
    expect(traceparentIn({ '_tracer-data': { metadata, data: Buffer.from('x') } })).toBeUndefined();
    expect(traceparentIn({})).toBeUndefined();
  });
});
