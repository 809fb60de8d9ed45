import { Injectable } from '@nestjs/common';
import { Signatures } from '../auth/signatures.js';
import { Problem } from '../problems/problem.js';

const CURSOR = /^(\d)\.([A-Za-z0-9_-]{0,4000})\.([A-Za-z0-9_-]{43})$/;

/** A place in a list: which of its searches, and where in that search; null for its beginning. */
export type Place = { readonly search: number; readonly token: Uint8Array | null };

/** Places in lists as text. The API signs each, so that only tokens that Temporal gave for this list reach Temporal. */
@Injectable()
export class Cursors {
  constructor(private readonly signatures: Signatures) {}

  write({ search, token }: Place, searches: readonly string[]): string {
    const text = `${search}.${Buffer.from(token ?? []).toString('base64url')}`;
    return `${text}.${this.signatures.sign('cursor', [text, searches])}`;
  }

  /**
   * @throws {Problem} `invalid_request` for a cursor that the API did not sign, or that belongs to a list with other
   * filters.
   */
  read(cursor: string, searches: readonly string[]): Place {
    const [, search = '', token = '', signature = ''] = CURSOR.exec(cursor) ?? [];
    if (!this.signatures.verify(signature, 'cursor', [`${search}.${token}`, searches])) {
      throw new Problem('invalid_request', 'The cursor does not belong to this list');
    }
    return { search: Number(search), token: token === '' ? null : Buffer.from(token, 'base64url') };
  }
}
