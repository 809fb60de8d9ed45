import { timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { signature, signedLinks, signingKey, type COUNTER_LINK, type LinkTo } from '@tillflow/temporal';
import { Settings } from '../providers.js';

/** The purpose of a signature. A signature for one purpose is not valid for another. */
export type Purpose = 'link' | 'codec' | 'cursor' | typeof COUNTER_LINK | 'counter session';

/**
 * Signs what callers send back, with `URL_SIGNING_KEY`. Its first secret signs, all of its secrets verify. The same
 * text has the same signature on every instance.
 */
@Injectable()
export class Signatures {
  readonly #keys: readonly Buffer[];

  constructor({ values, account }: Settings) {
    this.#keys = values.URL_SIGNING_KEY.map((secret) => signingKey(secret, account));
  }

  /** As {@link signature}. */
  sign(purpose: Purpose, parts: readonly unknown[]): string {
    return signature(this.#first, purpose, parts);
  }

  /** Writes signed links. @param base of every link, without a slash at its end */
  links(base: string): LinkTo {
    return signedLinks(base, this.#first);
  }

  get #first(): Buffer {
    const [key] = this.#keys;
    if (key === undefined) throw new Error('URL_SIGNING_KEY has no secret');
    return key;
  }

  /** Compares in constant time. */
  verify(given: string, purpose: Purpose, parts: readonly unknown[]): boolean {
    // Compared as text: base64url has several spellings of the same bytes.
    const actual = Buffer.from(given);
    return this.#keys.some((key) => {
      const wanted = Buffer.from(signature(key, purpose, parts));
      return actual.length === wanted.length && timingSafeEqual(actual, wanted);
    });
  }
}
