import type { FastifyRequest } from 'fastify';
import type { CodecLinks } from '../codec/codec-links.js';
import { addressKey } from '../edge/address-key.js';
import { countOf } from '../edge/host.js';
import type { Limits } from '../edge/limits.js';
import { Problem } from '../problems/problem.js';
import type { Settings } from '../settings.provider.js';
import type { Access } from './access.js';
import { findKey, mayActAs, type ApiKey } from './api-keys.js';
import { linkCaller, type Caller } from './caller.js';
import type { SignedLinks } from './signed-links.js';

const BEARER = /^bearer +(\S+)$/i;

type Parts = {
  readonly settings: Settings;
  readonly limits: Limits;
  readonly links: SignedLinks;
  readonly codecLinks: CodecLinks;
};

/** Decides, from the head of a request alone, who asks, whether that was too often, and whether the route is open to them. */
export class Admission {
  constructor(private readonly parts: Parts) {}

  /**
   * Counts the request. Notes the caller on it. A path without a route is only counted.
   * @throws {Problem} `rate_limited`, `unauthorized`, `forbidden`
   */
  admit(request: Caller): void {
    const { access } = request.routeOptions.config;
    const key = this.#keyOf(request);
    const isByLink = key === null && this.#hasLink(request, access);
    if (access?.isUnlimited !== true) this.#count(addressKey(request.ip), key, isByLink);
    if (request.is404) return;
    if (access === undefined) throw new Problem('forbidden', 'This route is closed');
    if (isByLink) request.caller = linkCaller(request.ip);
    else if (this.#wantsKey(access)) request.caller = nameOf(key, access, request);
  }

  #count(address: string, key: ApiKey | null, isByLink: boolean): void {
    const { keys, links, anonymous } = this.parts.limits;
    if (key !== null) {
      if (!keys.take(key.name)) throw tooMany('More requests than this key may make in a second');
    } else if (isByLink) {
      if (!links.take(address)) throw tooMany('More requests by links than one address may make in a second');
    } else if (!anonymous.take(address)) {
      throw tooMany('More requests without a known key than one address may make in a second');
    }
  }

  #keyOf({ headers: { authorization }, raw }: FastifyRequest): ApiKey | null {
    const [, token] = BEARER.exec(authorization ?? '') ?? [];
    if (token === undefined || countOf('authorization', raw.rawHeaders) !== 1) return null;
    return findKey(this.parts.settings.values.API_KEYS, token);
  }

  #hasLink(request: FastifyRequest, access: Access | undefined): boolean {
    const { links, codecLinks } = this.parts;
    if (access?.or === 'signed link') return links.isSigned(request.url);
    if (access?.or !== 'codec link') return false;
    const { token } = request.params as { readonly token: string };
    return codecLinks.isValid(token, Date.now());
  }

  #wantsKey({ role, or }: Access): boolean {
    return role !== null && !(or === 'METRICS_OPEN' && this.parts.settings.values.METRICS_OPEN);
  }
}

function nameOf(key: ApiKey | null, { role, or }: Access, { headers }: FastifyRequest): string {
  if (key === null) throw new Problem('unauthorized', whyNoKey(or, headers.authorization));
  if (role !== null && !mayActAs(key.role, role)) throw new Problem('forbidden', `The key's role may not do this`);
  return key.name;
}

function whyNoKey(or: Access['or'], authorization = ''): string {
  if (or === 'codec link') return 'The address is not valid, or is over: ask for a new one at /v1/codec-address';
  return BEARER.test(authorization) ? 'The key is not known' : 'Send Authorization: Bearer <key>';
}

/** Each second has a count of its own. */
export function tooMany(detail: string): Problem {
  return new Problem('rate_limited', detail, { retryAfterSeconds: 1 });
}
