import { fileURLToPath } from 'node:url';

/** Where the build writes the files of the counter. */
export const SITE = fileURLToPath(new URL('../dist/site/', import.meta.url));

/** Each file of the counter: its address below `/counter`, its name in the build, and its type. */
export const ADDRESSES = [
  { path: '', name: 'counter.html', type: 'text/html; charset=utf-8' },
  { path: '/display', name: 'display.html', type: 'text/html; charset=utf-8' },
  { path: '/counter.js', name: 'counter.js', type: 'text/javascript; charset=utf-8' },
  { path: '/style.css', name: 'style.css', type: 'text/css; charset=utf-8' },
  { path: '/manifest.webmanifest', name: 'manifest.webmanifest', type: 'application/manifest+json' },
  { path: '/icon.svg', name: 'icon.svg', type: 'image/svg+xml' },
  { path: '/icon-192.png', name: 'icon-192.png', type: 'image/png' },
  { path: '/icon-512.png', name: 'icon-512.png', type: 'image/png' },
  { path: '/worker.js', name: 'worker.js', type: 'text/javascript; charset=utf-8' },
] as const;
