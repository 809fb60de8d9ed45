import type { ProblemCode } from '../problems/catalog.js';

/** A read or a change of one checkout. */
export const CHECKOUT_PROBLEMS = [
  'not_found',
  'checkout_unreadable',
  'temporal_unavailable',
  'overloaded',
] as const satisfies readonly ProblemCode[];

/** A read of the provider's records. */
export const READ_PROBLEMS = [
  'not_found',
  'provider_refused',
  'provider_key_refused',
  'provider_unavailable',
  'provider_busy',
  'provider_timeout',
] as const satisfies readonly ProblemCode[];

/** A change of the provider's records, which the worker makes. */
export const COMMAND_PROBLEMS = [
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
