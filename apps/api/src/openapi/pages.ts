import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { servePage, type StaticPage } from '../edge/static-pages.js';

const require = createRequire(import.meta.url);
const ASSETS = dirname(require.resolve('swagger-ui-dist/package.json'));

const HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Tillflow API</title>
<link rel="icon" type="image/png" href="docs/favicon-32x32.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="api"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`;

const START = `SwaggerUIBundle({ url: 'openapi.json', dom_id: '#api', deepLinking: true });\n`;

/** The page may run only its own scripts, and call only this API. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** All accounts have the same description. */
let prepared: Promise<readonly StaticPage[]> | undefined;

/** Serves the description of the API, as JSON and as a page. A process prepares every answer once. */
export async function serveDescription(server: FastifyInstance, describe: () => unknown): Promise<void> {
  prepared ??= prepare(describe());
  for (const page of await prepared) servePage(server, page);
  server.get('/docs/', { config: { access: { scope: null } } }, (_, reply) => reply.redirect('../docs', 308));
}

async function prepare(document: unknown): Promise<readonly StaticPage[]> {
  const asset = async (name: string, type: string): Promise<StaticPage> => ({
    path: `/docs/${name}`,
    type,
    bytes: await readFile(join(ASSETS, name)),
  });
  return [
    { path: '/openapi.json', type: 'application/json; charset=utf-8', bytes: Buffer.from(JSON.stringify(document)) },
    { path: '/docs', type: 'text/html; charset=utf-8', bytes: Buffer.from(HTML), policy: POLICY },
    { path: '/docs/start.js', type: 'text/javascript; charset=utf-8', bytes: Buffer.from(START) },
    await asset('swagger-ui-bundle.js', 'text/javascript; charset=utf-8'),
    await asset('swagger-ui.css', 'text/css; charset=utf-8'),
    await asset('favicon-32x32.png', 'image/png'),
  ];
}
