import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from './api-error.js';

export type BrowserGuardOptions = {
  /** Further values of `Host`, each with a port or without. */
  readonly allowedHosts: readonly string[];
  /** The public and the listening address of this sandbox. */
  readonly ownUrls: () => readonly string[];
};

/**
 * Protects the control routes and the pages, which need no key, from web pages of other sites. Only a browser carries
 * requests of another site. A program can send any header, so it must not reach the port unless you trust it.
 */
export class BrowserGuard {
  readonly #options: BrowserGuardOptions;

  constructor(options: BrowserGuardOptions) {
    this.#options = options;
  }

  /**
   * Prevents DNS rebinding, in which a site points its own name at this machine. Names and addresses of this machine
   * pass with any port, because a container or a tunnel may publish another one.
   * @throws {ApiError} `not_authorized`.
   */
  checkHost({ host = '' }: IncomingHttpHeaders): void {
    const called = addressOf(host);
    if (called !== null) {
      if (isLoopback(called.hostname)) return;
      const names = [...this.#options.allowedHosts, ...this.#options.ownUrls().map((url) => new URL(url).host)];
      if (names.some((name) => name.toLowerCase() === called.host || name.toLowerCase() === called.hostname)) return;
    }
    throw new ApiError(
      'not_authorized',
      'The sandbox does not accept this Host. Nothing changed. Add the name to SANDBOX_ALLOWED_HOSTS.',
    );
  }

  /**
   * A browser says where a request comes from: in `Sec-Fetch-Site` at a trustworthy address, in `Origin` at any.
   * @throws {ApiError} `not_authorized`.
   */
  checkOrigin({ origin, host, 'sec-fetch-site': site }: IncomingHttpHeaders): void {
    const isOwnSite = site === undefined || site === 'same-origin' || site === 'none';
    const isOwnOrigin =
      origin === undefined ||
      (URL.canParse(origin) &&
        (new URL(origin).host === host || this.#options.ownUrls().some((url) => new URL(url).origin === origin)));
    if (isOwnSite && isOwnOrigin) return;
    throw new ApiError('not_authorized', 'A page of another site sent this request. Nothing changed.');
  }
}

/**
 * A browser sends JSON to another origin only after a preflight request, which the control routes refuse.
 * @throws {ApiError} `unsupported_media_type`.
 */
export function requireJson({ 'content-type': type = '' }: IncomingHttpHeaders): void {
  if (/^application\/json\s*(;|$)/i.test(type)) return;
  throw new ApiError(
    'unsupported_media_type',
    'A control request needs the header Content-Type: application/json, also without a body. Nothing changed.',
  );
}

function addressOf(host: string): { readonly host: string; readonly hostname: string } | null {
  if (!/^[^\s/?#@\\]+$/.test(host) || !URL.canParse(`http://${host}`)) return null;
  const { hostname } = new URL(`http://${host}`);
  const bare = hostname.replace(/\.$/, '');
  const [port = ''] = /:\d+$/.exec(host) ?? [];
  return { host: bare + port, hostname: bare };
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}
