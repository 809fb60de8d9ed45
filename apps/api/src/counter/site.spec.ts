import { fastify, type FastifyInstance, type LightMyRequestResponse } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serveCounter } from './site.js';

const PAGES = ['/counter', '/counter/display'];
const MANIFEST = '/counter/manifest.webmanifest';
const WORKER = '/counter/worker.js';

let server: FastifyInstance;
beforeAll(() => {
  server = fastify();
  serveCounter(server);
});
afterAll(() => server.close());

const get = (url: string, headers: Record<string, string> = {}): Promise<LightMyRequestResponse> =>
  server.inject({ url, headers });

/** Addresses relative to a file, as paths. */
const pathsFrom = (file: string, addresses: readonly (string | undefined)[]): string[] =>
  addresses.map((address = '') => new URL(address, `http://localhost${file}`).pathname);

/** The files that a page names. */
async function namedBy(page: string): Promise<string[]> {
  const { body } = await get(page);
  return pathsFrom(
    page,
    [...body.matchAll(/\b(?:src|href)="([^"]*)"/g)].map(([, address]) => address),
  );
}

type Manifest = {
  readonly id: string;
  readonly start_url: string;
  readonly scope: string;
  readonly display: string;
  readonly icons: readonly { readonly src: string; readonly sizes: string; readonly type: string }[];
};

async function manifest(): Promise<Manifest> {
  return (await get(MANIFEST)).json<Manifest>();
}

describe('the files of the counter', () => {
  it.each(PAGES)('%s runs and loads only files of this API, and stands in no frame', async (page) => {
    const { headers } = await get(page);
    const policy = new Map(
      String(headers['content-security-policy'])
        .split(/; */)
        .map((part) => [part.split(' ')[0], part.split(' ').slice(1).join(' ')]),
    );
    const sources = [...policy].filter(([name]) => name?.endsWith('-src'));
    expect(sources.filter(([, allowed]) => allowed !== "'self'" && allowed !== "'none'")).toEqual([]);
    expect(Object.fromEntries(policy)).toMatchObject({
      'default-src': "'none'",
      'script-src': "'self'",
      'base-uri': "'none'",
      'form-action': "'none'",
      'frame-ancestors': "'none'",
      'require-trusted-types-for': "'script'",
      'trusted-types': 'tillflow',
    });
  });

  it.each(PAGES)('%s names only files that exist, among them the manifest', async (page) => {
    const named = await namedBy(page);
    expect(named).toContain(MANIFEST);
    expect(named).toContain('/counter/counter.js');
    for (const path of named) expect([path, (await get(path)).statusCode]).toEqual([path, 200]);
  });

  it('are kept by a browser only with a question whether they are still the same', async () => {
    for (const path of new Set([...PAGES, MANIFEST, WORKER, ...(await namedBy('/counter'))])) {
      const { headers } = await get(path);
      const [policy, etag] = [headers['content-security-policy'], String(headers.etag)];
      expect([path, headers['cache-control']]).toEqual([path, 'no-cache']);
      const again = await get(path, { 'if-none-match': etag });
      expect([again.statusCode, again.headers['content-security-policy']]).toEqual([304, policy]);
    }
  });

  it('have a service worker that may serve the page above it', async () => {
    const { statusCode, headers } = await get(WORKER);
    expect([statusCode, headers['service-worker-allowed']]).toEqual([200, '/']);
    expect(headers['content-type']).toContain('javascript');
  });

  it('have a manifest with which the counter is installed: it opens the page, and its icons exist', async () => {
    const { id, start_url, scope, display, icons } = await manifest();
    expect((await get(MANIFEST)).headers['content-type']).toContain('application/manifest+json');
    expect(pathsFrom(MANIFEST, [id, start_url, scope])).toEqual(['/counter', '/counter', '/counter']);
    expect(display).toBe('standalone');
    // Chromium installs a page that has both sizes.
    expect(icons.map(({ sizes }) => sizes)).toEqual(expect.arrayContaining(['192x192', '512x512']));
    for (const { src, type } of icons) {
      const { statusCode, headers } = await get(pathsFrom(MANIFEST, [src])[0] ?? '');
      expect([src, statusCode, headers['content-type']]).toEqual([src, 200, type]);
    }
  });
});
