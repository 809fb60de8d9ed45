import type { Answer, Breach, Guarantee } from '@tillflow/workflows/testing';
import type { Environment } from './environment.js';

/** One checkout on the real processes, and what was seen of it. */
export class LiveCheckout {
  /** What callers were answered, and may rely on. */
  readonly answers: Answer[] = [];
  /** The breaches that were observed while the campaign ran. */
  readonly breaches: Breach[] = [];
  readonly trace: string[] = [];
  readonly #startedAt = Date.now();

  constructor(
    readonly environment: Environment,
    readonly reference: string,
  ) {}

  get id(): string {
    return `chk_default_${this.reference}`;
  }

  get workflow() {
    return this.environment.workflowOf(this.reference);
  }

  log(line: string): void {
    this.trace.push(`${Date.now() - this.#startedAt} ${line}`);
  }

  breach(guarantee: Guarantee, what: string): void {
    this.breaches.push({ guarantee, checkout: this.id, what });
  }
}
