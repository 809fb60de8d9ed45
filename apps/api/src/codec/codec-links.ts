import { Injectable } from '@nestjs/common';
import { Signatures } from '../auth/signatures.js';
import { Settings } from '../providers.js';
import type { CodecAddress } from './codec.schema.js';

/** A working day. An address with a later expiry was made with a wrong clock. */
const LIFETIME_MS = 12 * 3_600_000;
/** An address expires this much earlier, so that an instance with a slow clock accepts it too. */
const CLOCK_SKEW_MS = 30_000;

const TOKEN = /^(\d{1,15})\.([A-Za-z0-9_-]{43})$/;

/** Codec addresses for the Temporal UI, which cannot send a key. */
@Injectable()
export class CodecLinks {
  constructor(
    private readonly signatures: Signatures,
    private readonly settings: Settings,
  ) {}

  /** @param now milliseconds. */
  address(now: number): CodecAddress {
    const expiresAt = now + LIFETIME_MS - CLOCK_SKEW_MS;
    return {
      url: `${this.settings.publicUrl}/codec/${expiresAt}.${this.signatures.sign('codec', [String(expiresAt)])}`,
      expires_at: new Date(expiresAt).toISOString(),
    };
  }

  isValid(token: string, now: number): boolean {
    const [, expiresAt = '', signature = ''] = TOKEN.exec(token) ?? [];
    const left = Number(expiresAt) - now;
    return this.signatures.verify(signature, 'codec', [expiresAt]) && left > 0 && left <= LIFETIME_MS;
  }
}
