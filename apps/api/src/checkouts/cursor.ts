import { Injectable } from '@nestjs/common';
import { SignedLinks } from '../auth/signed-links.js';
import { Problem } from '../problems/problem.js';

const CURSOR = /^([A-Za-z0-9_-]{1,4000})\.([A-Za-z0-9_-]{43})$/;

/** The place in a list as text. It is signed, so that what reaches the engine is what the engine gave. */
@Injectable()
export class Cursors {
  constructor(private readonly links: SignedLinks) {}

  write(token: Uint8Array): string {
    const text = Buffer.from(token).toString('base64url');
    return `${text}.${this.links.signature(`cursor ${text}`)}`;
  }

  /** @throws {Problem} `invalid_request` for a cursor that is not ours. */
  read(cursor: string): Uint8Array {
    const [, text = '', signature = ''] = CURSOR.exec(cursor) ?? [];
    if (!this.links.isSignature(signature, `cursor ${text}`)) {
      throw new Problem('invalid_request', 'The cursor is not one of ours');
    }
    return Buffer.from(text, 'base64url');
  }
}
