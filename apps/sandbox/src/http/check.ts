import { z } from 'zod';
import { ApiError } from './api-error.js';

/** The checked value. @throws {ApiError} `bad_request` that names every mistake. */
export function check<T>(schema: z.ZodType<T>, input: unknown): T {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  throw new ApiError('bad_request', z.prettifyError(result.error));
}
