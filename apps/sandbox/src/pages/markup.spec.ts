import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { majorUnits, readMajorUnits } from './charge.js';
import { markup } from './markup.js';

describe('markup', () => {
  it('escapes text, and keeps markup within markup', () => {
    const inner = markup`<b>${'<i>'}</b>`;
    expect(markup`<p title="${`"'`}">${inner}${[inner, 'a&b', 1, null, false]}</p>`.text).toBe(
      '<p title="&quot;&#39;"><b>&lt;i&gt;</b><b>&lt;i&gt;</b>a&amp;b1</p>',
    );
  });

  it('contains no special character of any text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(markup`${text}`.text).not.toMatch(/[<>"']/);
      }),
    );
  });
});

describe('major units', () => {
  it('are read back as the same amount', () => {
    fc.assert(
      fc.property(fc.nat(), (amount) => {
        expect(readMajorUnits(majorUnits(amount), 'amount')).toBe(amount);
      }),
    );
  });
});
