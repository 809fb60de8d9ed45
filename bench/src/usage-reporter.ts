import type { Usage } from './processes.js';

/** Loaded into a measured process before its program. Reports the process's usage to its parent on request. */

process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ cpuSeconds: (user + system) / 1e6, rssBytes: process.memoryUsage.rss() } satisfies Usage);
});
// A measured process must not outlive a bench that was killed.
process.once('disconnect', () => process.exit());
// The channel alone must not keep the program running.
process.channel?.unref();
