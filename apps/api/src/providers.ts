import { accountOf } from '@tillflow/domain';
import type { ApiSettings } from './settings.js';

/** The program's settings. This class is their injection token. */
export class Settings {
  #listeningAt: string | undefined;

  constructor(readonly values: ApiSettings) {}

  /** The account that this part of the API serves: it has a task queue of its own. */
  get account(): string {
    return accountOf(this.values.TEMPORAL_TASK_QUEUE);
  }

  /** The base of links: `PUBLIC_URL`, or the address at which the server listens. No trailing slash. */
  get publicUrl(): string {
    return this.values.PUBLIC_URL ?? this.#listeningAt ?? `http://${this.values.HOST}:${this.values.PORT}`;
  }

  listeningAt(url: string): void {
    this.#listeningAt = url.replace(/\/+$/, '');
  }
}

/** The injection token of the program's logger. */
export const LOGGER = Symbol('logger');
