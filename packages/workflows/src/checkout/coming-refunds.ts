import type { RefundRequest } from './messages.js';

/**
 * Refund requests that are accepted, and that the model does not have yet: their limits are being read. Each counts by
 * itself, so that the end of one does not hide another request with the same key.
 */
export class ComingRefunds {
  readonly #requests = new Set<RefundRequest>();

  add(request: RefundRequest): void {
    this.#requests.add(request);
  }

  /** The model has it now, or refuses it. */
  end(request: RefundRequest): void {
    this.#requests.delete(request);
  }

  /** Whether a request with the key of this one is on its way. */
  hasKeyOf(request: RefundRequest): boolean {
    return [...this.#requests].some((coming) => keyOf(coming) === keyOf(request));
  }
}

/** A message that is sent by hand may have no request. */
function keyOf(request: RefundRequest | undefined): string {
  return request?.key ?? '';
}
