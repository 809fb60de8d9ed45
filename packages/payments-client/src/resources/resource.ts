import type { RequestSender } from '../http/request-sender.js';

/** The endpoints of one kind of record: each method is a verb and a path. */
export abstract class Resource {
  protected readonly http: RequestSender;

  constructor(http: RequestSender) {
    this.http = http;
  }
}
