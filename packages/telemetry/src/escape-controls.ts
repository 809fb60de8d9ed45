/**
 * Characters that a terminal reads as a command or the end of a line (C0, DEL, C1, U+2028, U+2029), or that reorder the
 * letters it shows (bidirectional marks, embeddings and isolates).
 */
const CONTROLS = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/**
 * Makes one line safe for a terminal, although it contains text of the provider and of callers. Each control character
 * becomes an escape such as `\u001b`, which JSON reads back.
 */
export function escapeControls(line: string): string {
  return line.replace(CONTROLS, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
