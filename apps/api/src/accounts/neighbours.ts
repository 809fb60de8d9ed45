import { accountInTillToken } from '@tillflow/temporal';
import type { CounterService } from '../counter/counter.service.js';
import { mergeMetrics } from '../metrics/merge.js';

/** What the part of one account offers to the others of its process. */
export type Neighbour = { readonly counter: CounterService; readonly metrics: () => Promise<string> };

/** The parts of the API in this process, by account. */
export class Neighbours {
  readonly #all = new Map<string, Neighbour>();

  set(account: string, neighbour: Neighbour): void {
    this.#all.set(account, neighbour);
  }

  delete(account: string): void {
    this.#all.delete(account);
  }

  /** The counter of the account that the token of a link names. The token is in the body, so the address of the request does not name its account. */
  counterOf(token: string): CounterService | undefined {
    return this.#all.get(accountInTillToken(token))?.counter;
  }

  /** The metrics of all accounts, for the operator of the installation. */
  async metrics(): Promise<string> {
    return mergeMetrics(await Promise.all([...this.#all.values()].map(({ metrics }) => metrics())));
  }
}
