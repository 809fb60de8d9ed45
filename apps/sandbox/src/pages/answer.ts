import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { LIVE_SCRIPT } from './live.js';
import { STYLE } from './style.js';

/** The answer to a browser: a page, an image, or a redirect. */
export type PageAnswer =
  | { readonly kind: 'html' | 'svg'; readonly status: number; readonly body: string }
  | { readonly kind: 'redirect'; readonly location: string };

/** Pages load nothing from other sites, run only their own script, and cannot be framed. */
const PAGE_POLICY = [
  "default-src 'none'",
  `style-src '${hashOf(STYLE)}'`,
  `script-src '${hashOf(LIVE_SCRIPT)}'`,
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

const IMAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

export function sendPage(response: ServerResponse, answer: PageAnswer): void {
  if (answer.kind === 'redirect') {
    response.writeHead(303, { Location: answer.location, 'Content-Length': 0, 'Cache-Control': 'no-store' }).end();
    return;
  }
  const isPage = answer.kind === 'html';
  response
    .writeHead(answer.status, {
      'Content-Type': isPage ? 'text/html; charset=utf-8' : 'image/svg+xml',
      'Content-Length': Buffer.byteLength(answer.body),
      'Content-Security-Policy': isPage ? PAGE_POLICY : IMAGE_POLICY,
      'X-Content-Type-Options': 'nosniff',
      // With `no-referrer` a browser would send its forms with `Origin: null`.
      'Referrer-Policy': 'same-origin',
      'Cache-Control': 'no-store',
      ...(isPage ? { 'X-Frame-Options': 'DENY' } : { 'Access-Control-Allow-Origin': '*' }),
    })
    .end(answer.body);
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
