import { DEFAULT_ACCOUNT } from '@tillflow/domain';
import type { FastifyRequest } from 'fastify';
import { hasExpired as keyHasExpired, type ConfiguredKeys, type Key, type TillSession } from '@tillflow/temporal';
import type { CodecLinks } from '../codec/codec-links.js';
import { hasExpired, type TillTokens } from '../counter/till-tokens.js';
import { addressKey } from '../edge/client-address.js';
import { countOf } from '../edge/headers.js';
import type { Bucket, Limits } from '../edge/limits.js';
import { Problem } from '../problems/problem.js';
import type { Settings } from '../providers.js';
import type { Access } from './access.js';
import { linkCaller, placeOf, tillCaller, type Caller } from './caller.js';
import type { LinkState, SignedLinks } from './signed-links.js';

const NO_LINK: LinkState = { kind: 'none' };

const LINK_REFUSED: Readonly<Record<'invalid' | 'expired', string>> = {
  invalid: 'The API did not sign this link. Read the checkout for its links',
  expired: 'The link has expired. Read the checkout for a new one',
};

export const BEARER = /^bearer +(\S+)$/i;

type Parts = {
  readonly settings: Settings;
  readonly keys: ConfiguredKeys;
  readonly limits: Limits;
  readonly links: SignedLinks;
  readonly codecLinks: CodecLinks;
  readonly tillTokens: TillTokens;
};

/** What a request shows of its caller. At most one is given. */
type Credentials = { readonly key: Key | null; readonly till: TillSession | null; readonly link: LinkState };

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
    const token = tokenOf(request);
    const key = token === null ? null : this.#keyOf(token);
    const till = token === null || key !== null ? null : this.parts.tillTokens.inSession(token);
    if (token !== null && key === null && till === null) request.hasWrongKey = true;
    const link = key === null && till === null ? this.#linkOf(request, access) : NO_LINK;
    if (access?.isUnlimited !== true) this.#count(request, { key, till, link });
    if (request.is404) return;
    if (access === undefined) throw new Problem('forbidden', 'This route is closed to everyone');
    if (link.kind === 'invalid' || link.kind === 'expired') throw new Problem('unauthorized', LINK_REFUSED[link.kind]);
    if (access.or === 'signed link') request.query = withoutLink(request.query);
    if (link.kind === 'valid') {
      request.caller = linkCaller(request.ip);
      if (link.expires !== null) request.linkExpires = link.expires;
    } else if (!this.#wantsKey(access)) return;
    else if (till !== null) enter(request, till, access);
    else enterWithKey(request, key, access);
  }

  /** A key of another account is unknown here. */
  #keyOf(token: string): Key | null {
    const key = this.parts.keys.find(token);
    return key?.account === this.parts.settings.account ? key : null;
  }

  #count(request: Caller, { key, till, link }: Credentials): void {
    const { keys, tills, links, oneLink, anonymous } = this.parts.limits;
    const address = addressKey(request.ip);
    if (key !== null) {
      take(request, keys, key.name, 'This key made too many requests in one second');
    } else if (till !== null) {
      take(request, tills, till.link, 'The counters of this link made too many requests in one second');
    } else if (link.kind === 'valid') {
      take(request, links, address, 'This address made too many requests with links in one second');
      // The Temporal UI reads a whole history at an address of the codec, which has no expiry of its own.
      if (link.expires === null) return;
      const caller = `${address} ${JSON.stringify(request.params)}`;
      take(request, oneLink, caller, 'This address made too many requests with one link in one second');
    } else take(request, anonymous, address, 'This address made too many requests without a known key in one second');
  }

  #linkOf(request: FastifyRequest, access: Access | undefined): LinkState {
    const { links, codecLinks } = this.parts;
    if (access?.or === 'signed link') return links.check(request, Date.now());
    if (access?.or !== 'codec link') return NO_LINK;
    const { token } = request.params as { readonly token: string };
    return codecLinks.isValid(token, Date.now()) ? { kind: 'valid', expires: null } : NO_LINK;
  }

  #wantsKey({ scope, or }: Access): boolean {
    return scope !== null && !(or === 'METRICS_OPEN' && this.parts.settings.values.METRICS_OPEN);
  }
}

/** No route knows the parameters of a link. The API ignores a link beside a key. */
function withoutLink(query: unknown): object {
  const { expires: _, sig: __, ...others } = query as Readonly<Record<string, unknown>>;
  return others;
}

/** The bearer token of a request; null unless it has exactly one. */
function tokenOf({ headers: { authorization }, raw }: FastifyRequest): string | null {
  const [, token] = BEARER.exec(authorization ?? '') ?? [];
  return token === undefined || countOf('authorization', raw.rawHeaders) !== 1 ? null : token;
}

/** @throws {Problem} `unauthorized` after the session's end, `forbidden` for a route that is not about one till */
function enter(request: Caller, till: TillSession, { till: isForTills }: Access): void {
  if (hasExpired(till)) throw new Problem('unauthorized', 'The session has expired. Open the counter with a new link');
  if (isForTills !== true) throw new Problem('forbidden', 'A session of the counter is not allowed to do this');
  request.till = till;
  request.caller = tillCaller(till);
}

/** @throws {Problem} `unauthorized` without a valid key, `forbidden` for a key that is not allowed to do this */
function enterWithKey(request: Caller, key: Key | null, { scope, and, or, place, isOfInstallation }: Access): void {
  if (key === null) throw new Problem('unauthorized', whyNoKey(or, request.headers.authorization));
  if (keyHasExpired(key, Date.now())) throw new Problem('unauthorized', 'The key has expired');
  request.key = key;
  request.caller = key.name;
  if (scope === 'session') throw new Problem('forbidden', 'Only a session of the counter is allowed to do this');
  for (const needed of [scope, and]) {
    if (needed === undefined || needed === null || needed === 'any' || key.scopes.includes(needed)) continue;
    throw new Problem('forbidden', `The key does not have the scope ${needed}`);
  }
  if (isOfInstallation === true && key.account !== DEFAULT_ACCOUNT) {
    throw new Problem('forbidden', 'This concerns the whole installation: it needs a key of the account default');
  }
  if (place === undefined && placeOf(request) !== undefined) {
    throw new Problem('forbidden', 'The key is for some stores or tills, and this concerns the whole account');
  }
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
