import { ApiError } from '../http/api-error.js';
import { Router } from '../http/router.js';
import { chargeRoutes } from './charges.js';
import type { PageContext, PageRoute, PagesOptions } from './page-context.js';
import { walletRoutes } from './wallet.js';

/** Every browser asks for it. Without this route, each visit would appear in the log of API requests. */
const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#0b57d0"/><path d="M4 5h8M4 8h8M4 11h5" stroke="#fff" stroke-width="1.6" stroke-linecap="round"/></svg>';

/** The QR image, the customer's wallet and the merchant's dashboard. They need no key. */
export function pageRoutes(options: PagesOptions): Router<PageRoute> {
  const router = new Router<PageRoute>();
  const context: PageContext = {
    ...options,
    getFromAnywhere: (template, route) => void router.add('GET', template, route),
    get: (template, route) =>
      void router.add('GET', template, (call) => {
        options.guard.checkHost(call.headers);
        return route(call);
      }),
    post: (template, route) =>
      void router.add('POST', template, (call) => {
        options.guard.checkHost(call.headers);
        options.guard.checkOrigin(call.headers);
        return route(call);
      }),
  };
  const noSuchPage = (): never => {
    throw new ApiError('not_found', 'This page does not exist.');
  };
  context.get('/', () => ({ kind: 'redirect', location: '/dashboard' }));
  context.get('/favicon.ico', () => ({ kind: 'svg', status: 200, body: ICON }));
  walletRoutes(context);
  chargeRoutes(context);
  context.get('/dashboard/{page}', noSuchPage);
  context.post('/dashboard/{page}', noSuchPage);
  return router;
}
