/**
 * What a terminal takes for a command or for the end of a line (C0, DEL, C1, U+2028, U+2029), and what makes it show
 * letters in another order than they are written (bidirectional marks, embeddings and isolates).
 */
const CONTROLS = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/**
 * One line as a terminal may show it, with words of the provider and of callers in it: each control character as
 * `\u001b`, which JSON reads back.
 */
export function escapeControls(line: string): string {
  return line.replace(CONTROLS, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
