import { applyDecorators } from '@nestjs/common';
import { ApiExtension, ApiOperation, ApiResponse } from '@nestjs/swagger';
import type { z } from 'zod';
import type { ProblemCode } from '../problems/catalog.js';

/** The extension under which an operation's problems wait until the document is completed; not part of it. */
export const PROBLEMS_EXTENSION = 'x-problems';

/** What any route behind a key may answer. */
const ALWAYS: readonly ProblemCode[] = ['unauthorized', 'forbidden', 'rate_limited', 'internal_error'];

/** Names an operation for the document, and every problem that it may answer besides those of all routes with a key. */
export function Describes(operationId: string, summary: string, problems: readonly ProblemCode[]): MethodDecorator {
  return applyDecorators(
    ApiOperation({ operationId, summary }),
    ApiExtension(PROBLEMS_EXTENSION, [...ALWAYS, ...problems]),
  );
}

/** As {@link Describes}, of a route that is for everyone. */
export function DescribesOpen(operationId: string, summary: string, problems: readonly ProblemCode[]): MethodDecorator {
  return applyDecorators(
    ApiOperation({ operationId, summary, security: [] }),
    ApiExtension(PROBLEMS_EXTENSION, ['rate_limited', 'internal_error', ...problems]),
  );
}

/** An answer, with an example of it. */
export function Answers<T>(
  status: number,
  description: string,
  schema: z.ZodType<T>,
  example: T,
): MethodDecorator & ClassDecorator {
  return ApiResponse({ status, description, standardSchema: schema, example });
}
