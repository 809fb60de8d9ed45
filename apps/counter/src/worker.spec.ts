import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';

const SCRIPT = readFileSync(new URL('./assets/worker.js', import.meta.url), 'utf8')
  .replace('__VERSION__', 'v')
  .replace('__FILES__', JSON.stringify(['/counter.js']));

type FetchEvent = { readonly request: Request; readonly respondWith: (response: Promise<Response>) => void };

/** Asks the service worker for the program of the page. */
function ask(fetch: () => Promise<Response>): Promise<Response> {
  const listeners = new Map<string, (event: FetchEvent) => void>();
  const location = new URL('https://api.test/counter/worker.js');
  const addEventListener = (name: string, listener: (event: FetchEvent) => void) => listeners.set(name, listener);
  const caches = { match: () => Promise.resolve(new Response('the kept file')) };
  runInNewContext(SCRIPT, { addEventListener, location, caches, fetch, URL, Response, AbortSignal });
  return new Promise((respondWith) => {
    listeners.get('fetch')?.({ request: new Request('https://api.test/counter/counter.js'), respondWith });
  });
}

describe('the service worker', () => {
  it('gives the newest file', async () => {
    const response = await ask(() =>
      Promise.resolve(new Response('new', { headers: { 'content-type': 'text/test' } })),
    );
    expect([await response.text(), response.headers.get('content-type')]).toEqual(['new', 'text/test']);
  });

  it.each([
    ['does not arrive', () => Promise.reject(new Error('no network'))],
    ['is an error', () => Promise.resolve(new Response('bad gateway', { status: 502 }))],
    [
      'is cut on the way',
      () =>
        Promise.resolve(
          new Response(
            new ReadableStream({
              pull: (controller) => controller.error(new Error('too slow')),
            }),
          ),
        ),
    ],
  ])('gives the kept file when the newest one %s', async (_, fetch) => {
    expect(await (await ask(fetch)).text()).toBe('the kept file');
  });
});
