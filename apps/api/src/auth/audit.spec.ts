import type { FastifyReply } from 'fastify';
import { expect, it } from 'vitest';
import { auditOf } from './audit.js';
import type { Caller } from './caller.js';

const outcomeOf = (status: number, problem?: Caller['problem']): unknown => {
  const request = {
    method: 'POST',
    ip: '192.0.2.1',
    caller: 'till-7',
    key: {},
    params: {},
    routeOptions: { config: { operation: 'createCheckout' } },
    problem,
  } as unknown as Caller;
  return auditOf(request, { statusCode: status } as FastifyReply)?.outcome;
};

it.each([
  [201, undefined, 'done'],
  [202, undefined, 'pending'],
  [409, 'reference_conflict', 'refused'],
  [503, 'not_accepting', 'refused'],
  [503, 'overloaded', 'refused'],
  [502, 'provider_unavailable', 'refused'],
  [503, 'temporal_unavailable', 'unknown'],
  [504, 'outcome_unknown', 'unknown'],
  [500, 'internal_error', 'unknown'],
] as const)('the audit of a request that gets %i %s says %s', (status, problem, outcome) => {
  expect(outcomeOf(status, problem)).toBe(outcome);
});
