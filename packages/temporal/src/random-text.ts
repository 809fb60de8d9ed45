import { randomBytes } from 'node:crypto';

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';

/** Random text of a-z and 2-7: five bits for each character. */
export function randomText(characters: number): string {
  return Array.from(randomBytes(characters), (byte) => ALPHABET[byte % ALPHABET.length]).join('');
}
