import { Injectable } from '@nestjs/common';
import { signedParts, type RouteParams } from '@tillflow/temporal';
import type { FastifyRequest } from 'fastify';
import { Settings } from '../providers.js';
import { Signatures } from './signatures.js';

export type LinkState =
  /** The request carries no link. */
  | { readonly kind: 'none' }
  | { readonly kind: 'invalid' }
  | { readonly kind: 'expired' }
  /** @property expires Unix seconds; null for a codec address. */
  | { readonly kind: 'valid'; readonly expires: number | null };

const EXPIRES = /^[1-9]\d{0,11}$/;

/**
 * Addresses that permit one route for one resource without a key, until they expire. The signature covers the route's
 * template, its parameters and the expiry. It does not cover the text of the address, which the router may read
 * differently.
 */
@Injectable()
export class SignedLinks {
  constructor(
    private readonly signatures: Signatures,
    private readonly settings: Settings,
  ) {}

  /**
   * @param template the route as Fastify knows it, such as `/v1/checkouts/:id/qr`.
   * @param expires Unix seconds.
   */
  link(template: string, params: RouteParams, expires: number): string {
    return this.signatures.links(this.settings.publicUrl)(template, params, expires);
  }

  /** Checks the link of a request that the router has assigned to a route. @param now milliseconds. */
  check({ routeOptions, params, query }: RoutedRequest, now: number): LinkState {
    const { expires, sig, ...others } = query as Readonly<Record<string, unknown>>;
    if (expires === undefined && sig === undefined) return { kind: 'none' };
    // A repeated parameter arrives as an array.
    if (typeof expires !== 'string' || typeof sig !== 'string' || Object.keys(others).length > 0) return INVALID;
    // Fastify parses the parameters of a path into text only.
    const parts = signedParts(routeOptions.url ?? '', params as RouteParams, expires);
    if (!EXPIRES.test(expires) || !this.signatures.verify(sig, 'link', parts)) return INVALID;
    return now < Number(expires) * 1_000 ? { kind: 'valid', expires: Number(expires) } : { kind: 'expired' };
  }
}

type RoutedRequest = Pick<FastifyRequest, 'routeOptions' | 'params' | 'query'>;

const INVALID: LinkState = { kind: 'invalid' };
