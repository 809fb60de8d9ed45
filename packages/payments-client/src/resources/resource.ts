import type { RequestSender } from '../http/request-sender.js';

/**
 * The endpoints of one kind of record: each method is a verb and a path. A `list*` method returns one page. An
 * `iterate*` method returns every record, each once; its `options` apply to each page.
 */
export abstract class Resource {
  protected readonly http: RequestSender;

  constructor(http: RequestSender) {
    this.http = http;
  }
}

/** The fields that records of every kind have. */
export interface RecordFields {
  /** False in test mode. */
  livemode?: boolean | null | undefined;
  /** Path of the resource. */
  location?: string | null | undefined;
  /** ISO 8601, UTC. */
  created_at?: string | null | undefined;
}
