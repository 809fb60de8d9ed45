import { escapeControls } from '@tillflow/telemetry';
import stringWidth from 'string-width';
import type { Language } from './languages.js';
import { linesOf, type Line } from './lines.js';
import type { CheckoutReceipt } from './receipts.schema.js';

/** The columns of a printer for paper of 80 mm, in its usual font. */
const COLUMNS = 42;

/** The receipt as lines of at most 42 columns, without control characters, which a printer would obey. */
export function receiptText(receipt: CheckoutReceipt): string {
  const lines = linesOf(receipt).flatMap((line) => printed(line, receipt.language));
  return `${lines.join('\n')}\n`;
}

function printed(line: Line, language: Language): string[] {
  switch (line.kind) {
    case 'shop':
    case 'address':
      return wrapped(line.text, language).map(centred);
    case 'title':
      return ['', ...wrapped(line.text, language).map(centred)];
    case 'heading':
      return wrapped(line.text, language);
    case 'rule':
      return ['-'.repeat(COLUMNS)];
    case 'field':
    case 'total':
      return pair(line, language);
  }
}

/** The label on the left and the value on the right, below it where both do not fit into one line. */
function pair({ label, value }: { readonly label: string; readonly value: string }, language: Language): string[] {
  const [shown, ...further] = wrapped(value, language);
  const gap = COLUMNS - columnsOf(label) - columnsOf(shown ?? '');
  if (shown !== undefined && further.length === 0 && gap > 0) return [`${label}${' '.repeat(gap)}${shown}`];
  return [...wrapped(label, language), ...wrapped(value, language).map(onTheRight)];
}

function centred(text: string): string {
  return `${' '.repeat(Math.floor((COLUMNS - columnsOf(text)) / 2))}${text}`;
}

function onTheRight(text: string): string {
  return `${' '.repeat(COLUMNS - columnsOf(text))}${text}`;
}

/** Lines of at most 42 columns: broken at blanks, and within a word only when it is longer than a line. */
function wrapped(text: string, language: Language): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of escapeControls(text)
    .split(/\s+/u)
    .filter((each) => each !== '')) {
    const extended = line === '' ? word : `${line} ${word}`;
    if (columnsOf(extended) <= COLUMNS) {
      line = extended;
      continue;
    }
    if (line !== '') lines.push(line);
    const pieces = cut(word, language);
    line = pieces.pop() ?? '';
    lines.push(...pieces);
  }
  return line === '' ? lines : [...lines, line];
}

/** A word in pieces of at most 42 columns. Thai and Chinese write words without blanks: they break between words. */
function cut(word: string, language: Language): string[] {
  const pieces: string[] = [];
  let piece = '';
  for (const part of parts(word, language)) {
    if (columnsOf(piece + part) > COLUMNS) {
      if (piece !== '') pieces.push(piece);
      piece = '';
    }
    piece += part;
  }
  return [...pieces, piece];
}

/**
 * Words; characters where a word alone is longer than a line; code points where even a character is, with many marks.
 */
function parts(text: string, language: Language): string[] {
  const isLong = (part: string): boolean => columnsOf(part) > COLUMNS;
  return segments(text, 'word', language)
    .flatMap((word) => (isLong(word) ? segments(word, 'grapheme', language) : [word]))
    .flatMap((character) => (isLong(character) ? Array.from(character) : [character]));
}

function segments(text: string, granularity: 'word' | 'grapheme', language: Language): string[] {
  return Array.from(new Intl.Segmenter(language, { granularity }).segment(text), ({ segment }) => segment);
}

/** Thai's vowel sara am stands beside its consonant, but Unicode counts the two as one character. */
const SARA_AM = /\u0e33/gu;

/** How many columns a printer needs for a text: two for a Chinese character, none for a Thai tone mark. */
export function columnsOf(text: string): number {
  return stringWidth(text) + (text.match(SARA_AM)?.length ?? 0);
}
