import type { ApiSettings } from './settings.js';

/** The program's settings, read once, injectable by this class. */
export class Settings {
  #listeningAt: string | undefined;

  constructor(readonly values: ApiSettings) {}

  /** Where links point to: `PUBLIC_URL`, or the address the server found itself listening at. No trailing slash. */
  get publicUrl(): string {
    return this.values.PUBLIC_URL ?? this.#listeningAt ?? `http://${this.values.HOST}:${this.values.PORT}`;
  }

  listeningAt(url: string): void {
    this.#listeningAt = url.replace(/\/+$/, '');
  }
}

/** The token under which the program's pino logger is injected. */
export const LOGGER = Symbol('logger');
