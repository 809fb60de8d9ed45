import { inspect } from 'node:util';

const REDACTED = '[redacted]';

/** Deep enough for any error of Node or undici. It stops a chain of causes that loops. */
const MAX_CAUSES = 8;

/** Removes a client's keys from every text that leaves it. A provider may echo a key in an error body. */
export class Redactor {
  readonly #secrets: readonly string[];

  constructor(keys: readonly string[]) {
    const forms = keys.flatMap((key) => [
      key,
      encodeURIComponent(key),
      base64(`${key}:`),
      base64(key),
      Buffer.from(`${key}:`).toString('base64url'),
      Buffer.from(key).toString('base64url'),
    ]);
    // Longest first: replacing a shorter form inside a longer one would leave the rest of it.
    this.#secrets = [...new Set(forms)].toSorted((a, b) => b.length - a.length);
  }

  text(value: string): string {
    let clean = value;
    for (const secret of this.#secrets) {
      if (clean.includes(secret)) clean = clean.replaceAll(secret, REDACTED);
    }
    return clean;
  }

  optional(value: string | undefined): string | undefined {
    return value === undefined ? undefined : this.text(value);
  }

  /**
   * A copy of an error for use as `cause`: name, code, message, stack and causes, redacted. It leaves out the other
   * properties, because some of undici's contain raw response bytes.
   */
  cause(error: unknown, depth = 0): Error {
    if (!(error instanceof Error)) return new Error(this.text(typeof error === 'string' ? error : inspect(error)));
    const inner = depth < MAX_CAUSES && error.cause !== undefined ? this.cause(error.cause, depth + 1) : undefined;
    const parts =
      error instanceof AggregateError && depth < MAX_CAUSES
        ? error.errors.map((part: unknown) => this.cause(part, depth + 1).message)
        : [];
    const message = this.text([error.message, ...parts].filter(Boolean).join('; '));
    const copy = new Error(message, inner && { cause: inner });
    copy.name = error.name;
    if (error.stack !== undefined) copy.stack = this.text(error.stack);
    const code = errorCode(error);
    return code === undefined ? copy : Object.assign(copy, { code: this.text(code) });
  }
}

/** The `code` of a system or undici error. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

function base64(text: string): string {
  // Without padding, so that it matches the text with and without padding.
  return Buffer.from(text).toString('base64').replace(/=+$/, '');
}
