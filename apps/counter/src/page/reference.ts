const LETTERS = 'abcdefghijklmnopqrstuvwxyz234567';
/** 50 random bits. */
const RANDOM_LETTERS = 10;
/** Source: `reference` in docs/openapi.json has at most 64 characters. */
const MOST_OF_TILL = 32;

/** A new reference of a sale: the till, the day and a random part. @param now milliseconds since 1970 */
export function newReference(terminal: string, now: number): string {
  const till = terminal.replace(/[^A-Za-z0-9._-]+/g, '-').slice(0, MOST_OF_TILL);
  const day = new Date(now).toISOString().slice(2, 10).replaceAll('-', '');
  const random = Array.from(crypto.getRandomValues(new Uint8Array(RANDOM_LETTERS)), (byte) => LETTERS[byte % 32]);
  return `${till}-${day}-${random.join('')}`;
}
