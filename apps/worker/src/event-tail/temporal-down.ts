import { isGrpcServiceError, ServiceError } from '@temporalio/client';

/** What is wrong with one request, or with the workflow that it is for. gRPC. */
const OF_ONE_REQUEST: ReadonlySet<number> = new Set([
  3, // invalid argument, such as one signal too many for a workflow
  5, // not found
  6, // already exists
  9, // failed precondition
  11, // out of range
]);

/** Temporal does nothing that it is asked: it is down, slow, or does not let us. */
export function isTemporalDown(error: unknown): boolean {
  const cause: unknown = error instanceof ServiceError ? error.cause : error;
  if (isGrpcServiceError(cause)) return !OF_ONE_REQUEST.has(cause.code);
  return error instanceof ServiceError;
}
