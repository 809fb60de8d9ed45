import { randomUUID } from 'node:crypto';
import type { Temporal } from '@tillflow/temporal';
import { msToTs } from '@tillflow/temporal/sdk-internals';

/**
 * Moves one running workflow ahead in time by the server's own time skipping: nothing is mocked, and its timers on the
 * way fire. Afterwards its time runs as usual. Needs a server with `timeSkipping`.
 */
export async function fastForward(
  { client, connection }: Pick<Temporal, 'client' | 'connection'>,
  workflowId: string,
  milliseconds: number,
): Promise<void> {
  const { workflowService } = connection;
  const { namespace } = client.options;
  const workflowExecution = { workflowId };
  const id = randomUUID();
  await workflowService.updateWorkflowExecutionOptions({
    namespace,
    workflowExecution,
    workflowExecutionOptions: {
      timeSkippingConfig: { enabled: true, fastForwardConfig: { id, duration: msToTs(milliseconds) } },
    },
    updateMask: { paths: ['time_skipping_config'] },
  });
  await workflowService.pollWorkflowExecutionTimeSkipping({ namespace, workflowExecution, fastForwardId: id });
}
