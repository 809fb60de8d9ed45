import { ApiError } from '../http/api-error.js';
import { Router } from '../http/router.js';
import { chargeRoutes } from './charges.js';
import { clockRoutes } from './clock.js';
import type { Desk, PageRoute, PagesOptions } from './desk.js';
import { eventRoutes } from './events.js';
import { faultRoutes } from './faults.js';
import { dashboardPage } from './layout.js';
import { requestRoutes } from './requests.js';
import { walletRoutes } from './wallet.js';

/** Asked for by every browser: without it each visit would stand in the log of requests to the API. */
const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#0b57d0"/><path d="M4 5h8M4 8h8M4 11h5" stroke="#fff" stroke-width="1.6" stroke-linecap="round"/></svg>';

/** The QR image, the customer's wallet and the merchant's dashboard: open without a key, as their addresses are shown to people. */
export function pageRoutes(options: PagesOptions): Router<PageRoute> {
  const router = new Router<PageRoute>();
  const desk: Desk = {
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
    page: (page) => dashboardPage(page, { now: options.clock.now(), frozen: options.clock.frozen }),
  };
  desk.get('/', () => ({ kind: 'redirect', location: '/dashboard' }));
  desk.get('/favicon.ico', () => ({ kind: 'svg', status: 200, body: ICON }));
  walletRoutes(desk);
  chargeRoutes(desk);
  eventRoutes(desk);
  requestRoutes(desk);
  faultRoutes(desk);
  clockRoutes(desk);
  desk.get('/dashboard/{page}', () => {
    throw new ApiError('not_found', 'There is no such page.');
  });
  return router;
}
