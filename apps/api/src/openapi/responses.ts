import { PROBLEMS, type ProblemCode } from '../problems/catalog.js';
import { problemDocument } from '../problems/problem.js';
import type { AnswerMetadata } from './decorators.js';
import type { Route } from './routes.js';
import type { Json, Schemas } from './schemas.js';

const PROBLEM = 'application/problem+json';

/**
 * Headers of answers. Those of the rate limit are missing on routes without a limit, and before the caller is known.
 */
export const HEADERS = {
  'X-Request-Id': header('Names the request in the logs', { type: 'string', format: 'uuid' }),
  'X-RateLimit-Limit': header(
    'Requests that the caller may make in one second',
    { type: 'integer', minimum: 1 },
    false,
  ),
  'X-RateLimit-Remaining': header('Requests left in this second', { type: 'integer', minimum: 0 }, false),
  'X-RateLimit-Reset': header('Seconds until the count starts again', { type: 'integer', minimum: 1 }, false),
  Location: header('Where to read the result', { type: 'string', format: 'uri-reference' }),
  'Retry-After': header('Seconds to wait before the next request', { type: 'integer', minimum: 1 }),
  'Content-Disposition': header('The name of the file', { type: 'string' }),
  'Content-Language': header('The language of the answer', { type: 'string' }),
  Vary: header('The headers of the request that decide the form of the answer', { type: 'string' }),
  'WWW-Authenticate': header('How to authenticate', { type: 'string', const: 'Bearer' }),
};

type HeaderName = keyof typeof HEADERS;

const ALWAYS = ['X-Request-Id', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const;

/** Headers that a status always has. */
const BY_STATUS: Readonly<Record<number, readonly HeaderName[]>> = {
  202: ['Retry-After'],
  401: ['WWW-Authenticate'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

/** The responses of the document. */
export class Responses {
  /** Operations that have the same problems for a status share the response. */
  readonly shared: Record<string, Json> = {};

  constructor(private readonly schemas: Schemas) {}

  /** The responses of one operation: its answers, and its problems. */
  of(route: Route): Json {
    const answers = route.answers.map((answer) => [answer.status, this.#answer(answer)] as const);
    const problems = byStatus(problemsOf(route)).map(
      ([status, codes]) => [status, this.#problem(status, codes)] as const,
    );
    return Object.fromEntries([...answers, ...problems]);
  }

  #answer({ status, description, content, headers, links }: AnswerMetadata): Json {
    const media = Object.entries(content).map(([type, { schema, example }]) => {
      const described = schema === undefined ? {} : { schema: this.schemas.refer(schema, 'output') };
      return [type, example === undefined ? described : { ...described, example }] as const;
    });
    return {
      description,
      headers: headersOf(status, headers),
      ...(media.length === 0 ? {} : { content: Object.fromEntries(media) }),
      ...(links.length === 0 ? {} : { links: Object.fromEntries(links.map((link) => [link.operationId, link])) }),
    };
  }

  #problem(status: number, codes: readonly ProblemCode[]): Json {
    const name = codes.map(pascalCase).join('Or');
    this.shared[name] ??= {
      description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}`).join('\n\n'),
      headers: headersOf(status),
      content: {
        [PROBLEM]: {
          schema: {
            allOf: [
              this.schemas.refer(problemDocument, 'output'),
              { type: 'object', properties: { status: { const: status }, code: { enum: codes } } },
            ],
          },
        },
      },
    };
    return { $ref: `#/components/responses/${name}` };
  }
}

/** The problems of a route: its own, and those that follow from its access and its body. */
function problemsOf({ access, operation, body }: Route): ReadonlySet<ProblemCode> {
  const takesBody = body !== undefined || operation.body !== undefined;
  return new Set<ProblemCode>([
    'invalid_request',
    ...operation.problems,
    ...(access.scope === null ? [] : (['unauthorized', 'forbidden'] as const)),
    ...(access.isUnlimited === true ? [] : (['rate_limited'] as const)),
    ...(takesBody ? (['unsupported_media_type'] as const) : []),
    ...(takesBody && access.body !== 'files' ? (['body_too_large'] as const) : []),
    // The head of any request can arrive too slowly, or be too large.
    'request_timeout',
    'headers_too_large',
    'internal_error',
  ]);
}

/** In the order of the statuses; the codes of a status in the order of the alphabet. */
function byStatus(codes: ReadonlySet<ProblemCode>): readonly (readonly [number, readonly ProblemCode[]])[] {
  const groups = new Map<number, ProblemCode[]>();
  for (const code of [...codes].toSorted()) {
    const { status } = PROBLEMS[code];
    groups.set(status, [...(groups.get(status) ?? []), code]);
  }
  return [...groups].toSorted(([a], [b]) => a - b);
}

function headersOf(status: number, own: readonly HeaderName[] = []): Json {
  const names = [...ALWAYS, ...(BY_STATUS[status] ?? []), ...own];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function header(description: string, schema: Json, required = true): Json {
  return { description, required, schema };
}

function pascalCase(code: ProblemCode): string {
  return code.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
}
