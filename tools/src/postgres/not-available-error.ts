/** A program cannot be found, downloaded or built on this machine. The message says which one, and why. */
export class NotAvailableError extends Error {
  override readonly name = 'NotAvailableError';
}
