import { createRequire } from 'node:module';
import type { Usage } from './processes.js';

/** Loaded into a measured process before its program. Reports the process's usage to its parent on request. */

const { cache } = createRequire(import.meta.url);

process.on('message', (request) => {
  if (request === 'modules') {
    process.send?.(Object.keys(cache));
    return;
  }
  const { user, system } = process.cpuUsage();
  process.send?.({ cpuSeconds: (user + system) / 1e6, rssBytes: process.memoryUsage.rss() } satisfies Usage);
});
// A measured process must not outlive a bench that was killed.
process.once('disconnect', () => process.exit());
// The channel alone must not keep the program running.
process.channel?.unref();
