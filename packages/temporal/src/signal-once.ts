import { createHash } from 'node:crypto';
import type { SignalDefinition } from '@temporalio/common';
import { encodeToPayloads } from '@temporalio/common/lib/internal-non-workflow/codec-helpers.js';
import type { Temporal } from './connection.js';

/** A signal, and what it is about: two that are about the same are one. */
export type OnceSignal<Args extends unknown[] = unknown[]> = {
  readonly signal: SignalDefinition<Args>;
  readonly args: Args;
  /** Equal in every process that sends the same. */
  readonly about: readonly (string | number | null)[];
};

/**
 * Sends a signal that the server writes once into a run of the workflow, however often and from however many processes
 * it is sent: it knows each signal by its request id. The client's own `signal` makes up a new id each time.
 * @throws what Temporal's service throws; NOT_FOUND when no run is open.
 */
export async function signalOnce<Args extends unknown[]>(
  { client, connection }: Pick<Temporal, 'client' | 'connection'>,
  workflowId: string,
  { signal, args, about }: OnceSignal<Args>,
): Promise<void> {
  const { namespace, identity, loadedDataConverter } = client.workflow.options;
  await connection.workflowService.signalWorkflowExecution({
    namespace,
    identity,
    workflowExecution: { workflowId },
    // Hashed: a caller's key is stored with it in the clear.
    requestId: createHash('sha256')
      .update(JSON.stringify([signal.name, ...about]))
      .digest('base64url'),
    signalName: signal.name,
    input: { payloads: (await encodeToPayloads(loadedDataConverter, ...args)) ?? null },
  });
}
