import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { ADDRESSES, SITE } from './files.js';

/** A file of the counter, ready to be served. */
export type CounterFile = {
  readonly path: string;
  readonly type: string;
  readonly bytes: Buffer;
  /** The same compressed; null for pictures, which are compressed already. */
  readonly gzip: Buffer | null;
};

/**
 * What the pages may do: run and load only files of the counter, and talk only to this API. No text becomes a script, and
 * only a receipt of the API becomes HTML.
 */
export const COUNTER_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types tillflow',
].join('; ');

/** The files of the counter, as the build wrote them. @throws {Error} before the build */
export function counterFiles(): readonly CounterFile[] {
  return ADDRESSES.map(({ path, name, type }) => {
    const bytes = readFileSync(SITE + name);
    return {
      path: `/counter${path}`,
      type,
      bytes,
      gzip: type.startsWith('image/png') ? null : gzipSync(bytes, { level: 9 }),
    };
  });
}
