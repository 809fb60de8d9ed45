import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../api-error.js';

/**
 * Refuses a form that another site's page sends through a visitor's browser. A browser tells where a form comes from:
 * `Sec-Fetch-Site` at a trustworthy address, `Origin` everywhere; programs send neither and are let in, as they could
 * send what they like.
 * @param publicUrl the address at which people see this sandbox, when a proxy stands in between.
 * @throws {ApiError} `not_authorized`.
 */
export function refuseOtherSites(headers: IncomingHttpHeaders, publicUrl: string): void {
  const site = headers['sec-fetch-site'];
  const { origin, host } = headers;
  if (site === 'same-origin' || site === 'none') return;
  const isOwn =
    origin === undefined ||
    (URL.canParse(origin) && (new URL(origin).host === host || origin === new URL(publicUrl).origin));
  if (site === undefined && isOwn) return;
  throw new ApiError('not_authorized', 'This form was sent by a page of another site. Nothing was changed.');
}
