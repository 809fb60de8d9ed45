// Keeps the files of the counter on the device, so that the page opens without a network. It never touches the API.
const CACHE = 'tillflow-counter-__VERSION__';
const HOME = new URL('../counter', location.href).pathname;
const FILES = __FILES__.map((path) => HOME + path);
/** How long the network may take before the kept file is used, in milliseconds. */
const PATIENCE_MS = 2_000;

addEventListener('install', (event) => {
  event.waitUntil(keepAll());
});

addEventListener('activate', (event) => {
  event.waitUntil(dropOld());
});

addEventListener('fetch', (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method === 'GET' && origin === location.origin && FILES.includes(pathname)) {
    event.respondWith(newest(request, pathname));
  }
});

async function keepAll() {
  const cache = await caches.open(CACHE);
  await cache.addAll(FILES.map((path) => new Request(path, { cache: 'reload' })));
  await skipWaiting();
}

async function dropOld() {
  const names = await caches.keys();
  const old = names.filter((name) => name.startsWith('tillflow-counter-') && name !== CACHE);
  await Promise.all(old.map((name) => caches.delete(name)));
  await clients.claim();
}

async function newest(request, pathname) {
  try {
    const response = await fetch(request, { signal: AbortSignal.timeout(PATIENCE_MS) });
    // The time counts for the whole file: on a slow line, a file that is cut would follow its headers.
    if (response.ok) return new Response(await response.blob(), response);
  } catch {
    // The kept file follows.
  }
  return (await caches.match(pathname)) ?? fetch(request);
}
