import { z } from 'zod';
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

const CODES = Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]];

/** The body of every error. Source: RFC 9457. */
export const problemDocument = z
  .object({
    type: z.url().meta({ description: 'A page that says what the error means for the money' }),
    title: z.string(),
    status: z.int().min(400).max(599),
    code: z.enum(CODES).meta({ id: 'ProblemCode', description: 'For programs. It does not change' }),
    detail: z.string().meta({ description: 'For people: what is wrong with this request' }),
    request_id: z.uuid().meta({ description: 'Names the request in the logs' }),
    errors: z
      .array(z.object({ path: z.string(), message: z.string() }))
      .optional()
      .meta({ description: 'Each wrong field' }),
    provider_code: z.string().optional().meta({ description: "The provider's own code for its refusal" }),
  })
  .meta({
    id: 'Problem',
    examples: [exampleOf('not_found')],
  });

/** The body of one error. */
export function problemBody(
  { code, status, detail, extra }: Problem,
  { publicUrl, requestId }: { readonly publicUrl: string; readonly requestId: string },
): z.output<typeof problemDocument> {
  return {
    type: `${publicUrl}/errors/${code}`,
    title: PROBLEMS[code].title,
    status,
    code,
    detail,
    request_id: requestId,
    ...(extra.errors === undefined ? {} : { errors: [...extra.errors] }),
    ...(extra.providerCode === undefined ? {} : { provider_code: extra.providerCode }),
  };
}

/** A body as it may read. */
export function exampleOf(code: ProblemCode) {
  const { status, title, example } = PROBLEMS[code];
  return {
    type: `https://pay.example/errors/${code}`,
    title,
    status,
    code,
    detail: example,
    request_id: '7b1f8a52-0f4e-4f0e-9c58-2f1d7f3a9a10',
    ...(code === 'invalid_request'
      ? { errors: [{ path: 'amount', message: 'Too small: expected number to be >0' }] }
      : {}),
  };
}
