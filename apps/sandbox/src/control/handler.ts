import type { Clock } from '../clock.js';
import { answerOf, attempt, refusalOf, sendJson, sendOptions, sendStream } from '../http/answer.js';
import { ApiError } from '../http/api-error.js';
import { requireJson, type BrowserGuard } from '../http/browser-guard.js';
import { decodeForm } from '../http/form.js';
import type { Router } from '../http/router.js';
import type { Handler } from '../http/server.js';
import type { ControlRoute } from './routes.js';

const CONTROL = '/__sandbox';
const LIMITS = { maximumBodyBytes: 1_024 * 1_024, maximumFileBytes: null };

/** Answers the control routes. Pages of other sites are refused before anything changes. */
export function controlHandler(
  routes: Router<ControlRoute>,
  guard: BrowserGuard,
  clock: Clock,
  onError: (error: unknown) => void,
): Handler {
  return {
    accept: (_method, path) => (path === CONTROL || path.startsWith(`${CONTROL}/`) ? LIMITS : null),
    handle: async ({ request, response, method, path, query, body }) => {
      const route = path.slice(CONTROL.length) || '/';
      const guarded = <T>(work: () => T): T => {
        guard.checkHost(request.headers);
        guard.checkOrigin(request.headers);
        return work();
      };
      if (method === 'OPTIONS') {
        const methods = attempt(() => guarded(() => routes.methods(route)));
        if (methods.error === null) sendOptions(response, methods.value, path);
        else sendJson(response, refusalOf(methods.error));
        return;
      }
      clock.tick();
      response.setHeader('Cross-Origin-Resource-Policy', 'same-origin');
      const answer = answerOf(
        () =>
          guarded(() => {
            if (method === 'POST') requireJson(request.headers);
            const match = routes.match(method, route);
            if (match === null) throw new ApiError('not_found', `There is no ${method} ${path}.`);
            const [id = ''] = match.params;
            return match.target({ id, query: decodeForm(query), body: parseJson(body.text()) });
          }),
        onError,
      );
      if ('status' in answer) sendJson(response, answer);
      else await sendStream(response, answer, method !== 'HEAD');
    },
  };
}

function parseJson(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError('bad_request', 'The body is not JSON.');
  }
}
