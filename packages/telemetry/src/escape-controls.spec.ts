import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { escapeControls } from './escape-controls.js';

describe('a line for a terminal', () => {
  it.each([
    ['a colour', '\u001b[31mred\u001b[0m', '\\u001b[31mred\\u001b[0m'],
    ['a title', '\u001b]0;owned\u0007', '\\u001b]0;owned\\u0007'],
    ['a command of one character', '\u009b2J', '\\u009b2J'],
    ['the begin of the line', 'paid\rfailed', 'paid\\u000dfailed'],
    ['another line', 'a\nb\u2028c\u0085d', 'a\\u000ab\\u2028c\\u0085d'],
    ['a delete', 'a\u007f', 'a\\u007f'],
    ['another order of letters', 'a\u202eb\u2066c\u200fd\u061ce', 'a\\u202eb\\u2066c\\u200fd\\u061ce'],
  ])('shows %s and does not do it', (_what, text, shown) => {
    expect(escapeControls(text)).toBe(shown);
  });

  it('leaves every letter as it is', () => {
    expect(escapeControls('สวัสดี, 2 coffees ☕ 👩‍🍳 עברית')).toBe('สวัสดี, 2 coffees ☕ 👩‍🍳 עברית');
  });

  it('of JSON reads back as what it was', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(JSON.parse(escapeControls(JSON.stringify(text)))).toBe(text);
      }),
    );
  });
});
