import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Settings } from '../settings.provider.js';

/** Addresses that open one resource of one checkout without a key. The same for the same path, on every instance. */
@Injectable()
export class SignedLinks {
  readonly #key: Buffer;
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
    const { URL_SIGNING_KEY, API_KEYS } = settings.values;
    const secret = URL_SIGNING_KEY ?? API_KEYS.map(({ hash }) => hash.toString('hex')).join();
    this.#key = createHash('sha256').update(`tillflow signed links\n${secret}`).digest();
  }

  /** @param path starting with `/`, without a query. */
  sign(path: string): string {
    return `${this.#settings.publicUrl}${path}?sig=${this.signature(path)}`;
  }

  isSigned(url: string): boolean {
    const { pathname, searchParams } = new URL(url, 'http://localhost');
    return this.isSignature(searchParams.get('sig') ?? '', pathname);
  }

  /** HMAC-SHA256 in base64url. */
  signature(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('base64url');
  }

  /** Compared in constant time. */
  isSignature(given: string, text: string): boolean {
    const wanted = Buffer.from(this.signature(text));
    const actual = Buffer.from(given);
    return actual.length === wanted.length && timingSafeEqual(actual, wanted);
  }
}
