import { isOther, word } from '../integrity.js';

/** Whether a source is of another type than the one that was asked for. */
export function otherType(asked: string, reported: string | null | undefined): boolean {
  return isOther(word(asked), word(reported));
}
