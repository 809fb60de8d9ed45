import type { IncomingMessage } from 'node:http';

/**
 * Bounds the time in which the body of a request arrives. Node's own `requestTimeout` has one value for all routes and is
 * looked at rarely.
 * @param onSlow is called when the body is not complete by then.
 */
export function boundArrival(request: IncomingMessage, withinMs: number, onSlow: () => void): void {
  if (!hasBody(request)) return;
  const timer = setTimeout(() => {
    if (!request.complete) onSlow();
  }, withinMs);
  timer.unref();
  const stop = (): void => clearTimeout(timer);
  request.once('end', stop).once('close', stop);
}

export function hasBody({ headers }: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers;
  return encoding !== undefined || (length !== undefined && length !== '0');
}
