/**
 * A signal that fires at the first Ctrl-C, termination, hang-up, or death of the pnpm that started this process; a
 * second Ctrl-C ends the process at once, and its children with it.
 */
export function onInterruption(): AbortSignal {
  const controller = new AbortController();
  const interrupt = (): void => {
    if (controller.signal.aborted) process.exit(130);
    controller.abort();
  };
  // Ctrl-C reaches the whole foreground group, and pnpm may pass it on: two signals in an instant are one.
  let last = 0;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      const now = Date.now();
      if (now - last > 500) interrupt();
      last = now;
    });
  }
  // A pnpm that was killed cannot pass anything on. Without pnpm the parent may leave on purpose (nohup).
  if (process.env['npm_lifecycle_event'] !== undefined) {
    const parent = process.ppid;
    setInterval(() => {
      if (process.ppid !== parent && !controller.signal.aborted) controller.abort();
    }, 500).unref();
  }
  return controller.signal;
}
