import type { FastifyReply } from 'fastify';
import type { OperationId } from './access.js';
import { mayHaveHadEffect } from '../problems/catalog.js';
import type { Caller } from './caller.js';

/** What a caller asked to change, for the stream of audit lines in the log. It has no value that was sent. */
export type Audit = {
  /** The name of the key, or the link and till of a session. */
  readonly by: string;
  /** The address of the client. */
  readonly origin: string;
  readonly operation: OperationId;
  /** The ids in the address. */
  readonly target: Readonly<Record<string, string>>;
  /**
   * - `done`: the answer is final.
   * - `pending`: the request is accepted, and a later answer says what became of it.
   * - `refused`: nothing was changed.
   * - `unknown`: the request may have had an effect.
   */
  readonly outcome: 'done' | 'pending' | 'refused' | 'unknown';
  readonly status: number;
};

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Undefined for a request that only reads, that has no caller, or that no route takes. */
export function auditOf(request: Caller, { statusCode: status }: FastifyReply): Audit | undefined {
  const { caller: by, ip: origin, routeOptions } = request;
  const { operation } = routeOptions.config;
  // A link is a secret of its own, and gives no one a name.
  if ((request.key ?? request.till) === undefined) return undefined;
  if (by === undefined || operation === undefined || READS.has(request.method)) return undefined;
  return { by, origin, operation, target: targetOf(request), outcome: outcomeOf(request, status), status };
}

function targetOf({ params }: Caller): Readonly<Record<string, string>> {
  if (typeof params !== 'object' || params === null) return {};
  // The address of the codec has a token.
  const { token: _secret, ...ids } = params as Readonly<Record<string, string>>;
  return ids;
}

function outcomeOf({ problem }: Caller, status: number): Audit['outcome'] {
  if (status === 202) return 'pending';
  if (status < 400) return 'done';
  const mayHaveHad = problem === undefined ? status >= 500 : mayHaveHadEffect(problem);
  return mayHaveHad ? 'unknown' : 'refused';
}
