import type { FastifyRequest } from 'fastify';
import type { CodecLinks } from '../codec/codec-links.js';
import { addressKey } from '../edge/client-address.js';
import { countOf } from '../edge/headers.js';
import type { Bucket, Limits } from '../edge/limits.js';
import { Problem } from '../problems/problem.js';
import type { Settings } from '../providers.js';
import type { Access } from './access.js';
import { findKey, mayActAs, type ApiKey } from './api-keys.js';
import { linkCaller, type Caller } from './caller.js';
import type { LinkState, SignedLinks } from './signed-links.js';

const NO_LINK: LinkState = { kind: 'none' };

const LINK_REFUSED: Readonly<Record<'invalid' | 'expired', string>> = {
  invalid: 'The API did not sign this link. Read the checkout for its links',
  expired: 'The link has expired. Read the checkout for a new one',
};

const BEARER = /^bearer +(\S+)$/i;

type Parts = {
  readonly settings: Settings;
  readonly limits: Limits;
  readonly links: SignedLinks;
  readonly codecLinks: CodecLinks;
};

/**
 * Decides from the headers of a request who the caller is, whether the caller exceeds a limit, and whether the route is
 * permitted.
 */
export class Admission {
  constructor(private readonly parts: Parts) {}

  /**
   * Counts the request, and sets its caller. A path without a route is only counted.
   * @throws {Problem} `rate_limited`, `unauthorized`, `forbidden`
   */
  admit(request: Caller): void {
    const { access } = request.routeOptions.config;
    const key = this.#keyOf(request);
    const link = key === null ? this.#linkOf(request, access) : NO_LINK;
    if (access?.isUnlimited !== true) this.#count(request, key, link);
    if (request.is404) return;
    if (access === undefined) throw new Problem('forbidden', 'This route is closed to everyone');
    if (link.kind === 'invalid' || link.kind === 'expired') throw new Problem('unauthorized', LINK_REFUSED[link.kind]);
    if (link.kind === 'valid') {
      request.caller = linkCaller(request.ip);
      if (link.expires !== null) request.linkExpires = link.expires;
    } else if (this.#wantsKey(access)) request.caller = nameOf(key, access, request);
  }

  #count(request: Caller, key: ApiKey | null, link: LinkState): void {
    const { keys, links, oneLink, anonymous } = this.parts.limits;
    const address = addressKey(request.ip);
    if (key !== null) {
      take(request, keys, key.name, 'This key made too many requests in one second');
    } else if (link.kind === 'valid') {
      take(request, links, address, 'This address made too many requests with links in one second');
      // The Temporal UI reads a whole history at an address of the codec, which has no expiry of its own.
      if (link.expires === null) return;
      const caller = `${address} ${JSON.stringify(request.params)}`;
      take(request, oneLink, caller, 'This address made too many requests with one link in one second');
    } else take(request, anonymous, address, 'This address made too many requests without a known key in one second');
  }

  #keyOf({ headers: { authorization }, raw }: FastifyRequest): ApiKey | null {
    const [, token] = BEARER.exec(authorization ?? '') ?? [];
    if (token === undefined || countOf('authorization', raw.rawHeaders) !== 1) return null;
    return findKey(this.parts.settings.values.API_KEYS, token);
  }

  #linkOf(request: FastifyRequest, access: Access | undefined): LinkState {
    const { links, codecLinks } = this.parts;
    if (access?.or === 'signed link') return links.check(request, Date.now());
    if (access?.or !== 'codec link') return NO_LINK;
    const { token } = request.params as { readonly token: string };
    return codecLinks.isValid(token, Date.now()) ? { kind: 'valid', expires: null } : NO_LINK;
  }

  #wantsKey({ role, or }: Access): boolean {
    return role !== null && !(or === 'METRICS_OPEN' && this.parts.settings.values.METRICS_OPEN);
  }
}

function nameOf(key: ApiKey | null, { role, or }: Access, { headers }: FastifyRequest): string {
  if (key === null) throw new Problem('unauthorized', whyNoKey(or, headers.authorization));
  if (role !== null && !mayActAs(key.role, role))
    throw new Problem('forbidden', `The role of this key is not allowed to do this`);
  return key.name;
}

function whyNoKey(or: Access['or'], authorization = ''): string {
  if (or === 'codec link')
    return 'The API did not sign this address, or it has expired. Get a new one at /v1/codec-address';
  return BEARER.test(authorization) ? 'The key is unknown' : 'Send Authorization: Bearer <key>';
}

/** Counts one request of the caller. @throws {Problem} `rate_limited` */
function take(request: Caller, bucket: Bucket, caller: string, detail: string): void {
  const isWithin = bucket.take(caller);
  request.share = bucket.shareOf(caller);
  if (!isWithin) throw tooMany(detail);
}

/** A limit counts each second anew. */
export function tooMany(detail: string): Problem {
  return new Problem('rate_limited', detail, { retryAfterSeconds: 1 });
}
