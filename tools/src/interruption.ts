/**
 * A signal that aborts at the first SIGINT, SIGTERM or SIGHUP, or when the pnpm that started this process ends. A
 * second signal ends this process, and its children with it, at once.
 */
export function onInterruption(): AbortSignal {
  const controller = new AbortController();
  const interrupt = (): void => {
    if (controller.signal.aborted) process.exit(130);
    controller.abort();
  };
  // Ctrl-C reaches the whole foreground group, and pnpm may pass it on: two signals within 500 ms count as one.
  let last = 0;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      const now = Date.now();
      if (now - last > 500) interrupt();
      last = now;
    });
  }
  // A pnpm that was killed passes no signal on. Without pnpm, the parent may end on purpose (nohup).
  if (process.env['npm_lifecycle_event'] !== undefined) {
    const parent = process.ppid;
    setInterval(() => {
      if (process.ppid !== parent && !controller.signal.aborted) controller.abort();
    }, 500).unref();
  }
  return controller.signal;
}
