import type { ProblemCode } from '../problems/catalog.js';

/** What a read of the provider's records may answer. */
export const READ_PROBLEMS = [
  'invalid_request',
  'not_found',
  'provider_refused',
  'provider_key_refused',
  'provider_unavailable',
  'provider_busy',
  'provider_timeout',
] as const satisfies readonly ProblemCode[];

/** What a change of the provider's records may answer. */
export const COMMAND_PROBLEMS = [
  'invalid_request',
  'not_found',
  'provider_refused',
  'command_unreadable',
  'provider_key_refused',
  'provider_unavailable',
  'provider_busy',
  'temporal_unavailable',
  'overloaded',
  'outcome_unknown',
] as const satisfies readonly ProblemCode[];
