import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from './api-error.js';

export type BrowserGuardOptions = {
  /** Names and addresses besides this machine's own, each with a port or without. */
  readonly allowedHosts: readonly string[];
  /** Where people and programs see this sandbox. */
  readonly ownUrls: () => readonly string[];
};

/**
 * Keeps web pages of other sites away from the control routes and the pages, which have no key. A browser is the only
 * caller that another site can send here; programs send what they like and reach the port only where you let them.
 */
export class BrowserGuard {
  readonly #options: BrowserGuardOptions;

  constructor(options: BrowserGuardOptions) {
    this.#options = options;
  }

  /**
   * Against DNS rebinding: a site that points its own name at this machine has the origin of its name.
   * Names and addresses of this machine pass with any port, as a container or a tunnel may publish another one.
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
      'The sandbox does not know this Host. Nothing was changed. Set SANDBOX_ALLOWED_HOSTS to the names it is called by.',
    );
  }

  /**
   * A browser says where a request comes from: `Sec-Fetch-Site` at a trustworthy address, `Origin` everywhere.
   * @throws {ApiError} `not_authorized`.
   */
  checkOrigin({ origin, host, 'sec-fetch-site': site }: IncomingHttpHeaders): void {
    const isOwnSite = site === undefined || site === 'same-origin' || site === 'none';
    const isOwnOrigin =
      origin === undefined ||
      (URL.canParse(origin) &&
        (new URL(origin).host === host || this.#options.ownUrls().some((url) => new URL(url).origin === origin)));
    if (isOwnSite && isOwnOrigin) return;
    throw new ApiError('not_authorized', 'A page of another site sent this. Nothing was changed.');
  }
}

/**
 * A browser sends JSON to another origin only after it has asked, which the control routes refuse.
 * @throws {ApiError} `unsupported_media_type`.
 */
export function requireJson({ 'content-type': type = '' }: IncomingHttpHeaders): void {
  if (/^application\/json\s*(;|$)/i.test(type)) return;
  throw new ApiError(
    'unsupported_media_type',
    'A control call needs the header Content-Type: application/json, also without a body. Nothing was changed.',
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
