import type { Clock } from '../clock.js';
import { attempt, refusalOf, sendJson, sendOptions } from '../http/answer.js';
import { ApiError } from '../http/api-error.js';
import type { BodyLimits } from '../http/body.js';
import { decodeForm } from '../http/form.js';
import type { Router } from '../http/router.js';
import type { Handler, Incoming } from '../http/server.js';
import type { DocumentRecord } from '../records/records.js';
import { sendPage, type PageAnswer } from './answer.js';
import { errorPage } from './layout.js';
import type { PageRoute } from './page-context.js';

/** Answers the addresses that a person opens in a browser. */
export function pageHandler(routes: Router<PageRoute>, clock: Clock, maximumBodyBytes: number): Handler {
  const matchOf = (method: string, path: string) => attempt(() => routes.match(method, path)).value;
  return {
    accept: (method, path): BodyLimits | null => {
      // The API refuses a malformed path.
      const methods = method === 'OPTIONS' ? (attempt(() => routes.methods(path)).value ?? []) : [];
      const isPage = methods.length > 0 || matchOf(method, path) !== null;
      return isPage ? { maximumBodyBytes, maximumFileBytes: null } : null;
    },
    handle: ({ request, response, method, path, query, body }) => {
      const match = matchOf(method, path);
      if (match === null) return sendOptions(response, routes.methods(path), path);
      clock.tick();
      const [id = ''] = match.params;
      const page = attempt((): PageAnswer =>
        match.target({ id, query: decodeForm(query), form: body.form().form, headers: request.headers }),
      );
      sendPage(response, page.error === null ? page.value : errorPage(page.error));
    },
  };
}

const DOWNLOAD = /^\/download\/([0-9a-z]+)\//;

/** Answers the download addresses of dispute documents. Anyone who has the address may read the document. */
export function downloadHandler(documentOf: (token: string) => DocumentRecord | undefined, clock: Clock): Handler {
  return {
    accept: (method, path) =>
      method !== 'OPTIONS' && DOWNLOAD.test(path) ? { maximumBodyBytes: 0, maximumFileBytes: null } : null,
    handle: ({ response, method, path }: Incoming) => {
      clock.tick();
      const [, token = ''] = DOWNLOAD.exec(path) ?? [];
      const document = method === 'GET' || method === 'HEAD' ? documentOf(token) : undefined;
      if (document === undefined) {
        sendJson(response, refusalOf(new ApiError('not_found', `There is no ${path}.`)));
        return;
      }
      response
        .writeHead(200, {
          'Content-Type': document.contentType,
          'Content-Length': document.content.length,
          'Content-Disposition': `inline; filename*=UTF-8''${encodeURIComponent(document.filename)}`,
          'Content-Security-Policy': "default-src 'none'; sandbox",
          'X-Content-Type-Options': 'nosniff',
          'Cache-Control': 'no-store',
        })
        .end(document.content);
    },
  };
}
