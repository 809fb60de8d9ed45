/** Loaded into a measured process before its program: tells its parent, when asked, what the process has used. */

export type Usage = {
  /** CPU time of all threads, the garbage collector's too, in seconds. */
  readonly cpuSeconds: number;
  readonly rssBytes: number;
};

process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ cpuSeconds: (user + system) / 1e6, rssBytes: process.memoryUsage.rss() } satisfies Usage);
});
// A bench that is killed leaves nothing behind.
process.once('disconnect', () => process.exit());
// The program decides when it ends.
process.channel?.unref();
