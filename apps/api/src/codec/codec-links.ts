import { Injectable } from '@nestjs/common';
import { SignedLinks } from '../auth/signed-links.js';
import { Settings } from '../settings.provider.js';
import type { CodecAddress } from './codec.schema.js';

/** A working day. */
const LIFETIME_MS = 12 * 3_600_000;

const TOKEN = /^(\d{1,15})\.([A-Za-z0-9_-]{43})$/;

/** Addresses of the codec for the Temporal UI, which cannot send a key of ours. */
@Injectable()
export class CodecLinks {
  constructor(
    private readonly links: SignedLinks,
    private readonly settings: Settings,
  ) {}

  /** @param now milliseconds. */
  address(now: number): CodecAddress {
    const expiresAt = now + LIFETIME_MS;
    return {
      url: `${this.settings.publicUrl}/codec/${expiresAt}.${this.links.signature(signed(String(expiresAt)))}`,
      expires_at: new Date(expiresAt).toISOString(),
    };
  }

  isValid(token: string, now: number): boolean {
    const [, expiresAt = '', signature = ''] = TOKEN.exec(token) ?? [];
    return this.links.isSignature(signature, signed(expiresAt)) && now < Number(expiresAt);
  }
}

function signed(expiresAt: string): string {
  return `codec until ${expiresAt}`;
}
