import type { FaultAction } from '../faults/plan.js';
import type { FormMap } from '../http/form.js';

/** Which key a request had. */
export type KeyUsed = 'secret' | 'public' | 'none' | 'wrong';

/** One request to the API, as `/__sandbox/state` and observers see it. */
export type RequestRecord = {
  readonly id: string;
  readonly at: string;
  readonly method: string;
  /** Template such as `/charges/{id}`; null when no route has the path. */
  readonly route: string | null;
  readonly path: string;
  readonly query: string;
  readonly key: KeyUsed;
  /** The decoded body; null when it is not a form. */
  readonly form: FormMap | null;
  /** Null until the answer is sent; it stays null when a fault withholds the answer. */
  status: number | null;
  /** The action and the id of the fault that hit the request. */
  fault: FaultAction | null;
  fault_id: number | null;
};

/** The latest requests to the API. */
export class RequestLog {
  #requests: RequestRecord[] = [];
  #forgotten = 0;

  constructor(private readonly capacity: number) {}

  get requests(): readonly RequestRecord[] {
    return this.#requests;
  }

  /** How many older requests were dropped. */
  get forgotten(): number {
    return this.#forgotten;
  }

  add(request: RequestRecord): void {
    this.#requests.push(request);
    if (this.#requests.length <= this.capacity) return;
    // Drops half at once, so that adding stays cheap.
    const forgotten = Math.ceil(this.#requests.length / 2);
    this.#requests = this.#requests.slice(forgotten);
    this.#forgotten += forgotten;
  }

  clear(): void {
    this.#requests = [];
    this.#forgotten = 0;
  }
}
