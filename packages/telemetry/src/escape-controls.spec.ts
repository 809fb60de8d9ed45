import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { escapeControls } from './escape-controls.js';

describe('escapeControls', () => {
  it.each([
    ['a colour', '\u001b[31mred\u001b[0m', '\\u001b[31mred\\u001b[0m'],
    ['a window title', '\u001b]0;owned\u0007', '\\u001b]0;owned\\u0007'],
    ['a command in one character', '\u009b2J', '\\u009b2J'],
    ['a carriage return', 'paid\rfailed', 'paid\\u000dfailed'],
    ['a line end', 'a\nb\u2028c\u0085d', 'a\\u000ab\\u2028c\\u0085d'],
    ['a DEL', 'a\u007f', 'a\\u007f'],
    ['marks that reorder letters', 'a\u202eb\u2066c\u200fd\u061ce', 'a\\u202eb\\u2066c\\u200fd\\u061ce'],
  ])('shows %s as an escape', (_what, text, shown) => {
    expect(escapeControls(text)).toBe(shown);
  });

  it('leaves every letter as it is', () => {
    expect(escapeControls('สวัสดี, 2 coffees ☕ 👩‍🍳 עברית')).toBe('สวัสดี, 2 coffees ☕ 👩‍🍳 עברית');
  });

  it('keeps JSON readable: it reads back as the same text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(JSON.parse(escapeControls(JSON.stringify(text)))).toBe(text);
      }),
    );
  });
});
