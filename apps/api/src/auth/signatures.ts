import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Settings } from '../providers.js';

/** The purpose of a signature. A signature for one purpose is not valid for another. */
export type Purpose = 'link' | 'codec' | 'cursor';

/**
 * Signs what callers send back, with `URL_SIGNING_KEY`. Its first secret signs, all of its secrets verify. The same
 * text has the same signature on every instance.
 */
@Injectable()
export class Signatures {
  readonly #keys: readonly Buffer[];

  constructor({ values }: Settings) {
    this.#keys = values.URL_SIGNING_KEY.map((secret) => createHash('sha256').update(secret).digest());
  }

  /** HMAC-SHA256 in base64url: 43 characters. */
  sign(purpose: Purpose, parts: readonly unknown[]): string {
    const [key] = this.#keys;
    if (key === undefined) throw new Error('URL_SIGNING_KEY has no secret');
    return signature(key, purpose, parts).toString('base64url');
  }

  /** Compares in constant time. */
  verify(given: string, purpose: Purpose, parts: readonly unknown[]): boolean {
    // Compared as text: base64url has several spellings of the same bytes.
    const actual = Buffer.from(given);
    return this.#keys.some((key) => {
      const wanted = Buffer.from(signature(key, purpose, parts).toString('base64url'));
      return actual.length === wanted.length && timingSafeEqual(actual, wanted);
    });
  }
}

/** JSON keeps the parts apart: no two lists of parts have the same text. */
function signature(key: Buffer, purpose: Purpose, parts: readonly unknown[]): Buffer {
  return createHmac('sha256', key)
    .update(JSON.stringify([purpose, ...parts]))
    .digest();
}
