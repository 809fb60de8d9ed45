import { PROBLEMS, type ProblemCode } from './catalog.js';

/** A refusal that the caller can act on; the filter turns it into `application/problem+json`. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly status: number;

  constructor(
    readonly code: ProblemCode,
    /** For people: what is wrong with this request. */
    readonly detail: string,
    readonly extra: {
      readonly errors?: readonly { readonly path: string; readonly message: string }[];
      readonly retryAfterSeconds?: number;
      /** The provider's code for its refusal. */
      readonly providerCode?: string;
      readonly cause?: unknown;
    } = {},
  ) {
    super(`${code}: ${detail}`, { cause: extra.cause });
    this.status = PROBLEMS[code].status;
  }
}
