import { randomUUID } from 'node:crypto';
import { msToTs } from '@tillflow/temporal/sdk-internals';
import type { Stack } from './stack.js';

/**
 * Moves one running workflow ahead in time, by the server's own time skipping: nothing else is mocked. Its timers on
 * the way fire; the provider's clock goes along.
 */
export async function fastForward(stack: Stack, reference: string, milliseconds: number): Promise<void> {
  const { workflowService } = stack.temporal.connection;
  const workflowExecution = { workflowId: `checkout/default/${reference}` };
  const id = randomUUID();
  stack.sandbox.advance(milliseconds / 1_000);
  await workflowService.updateWorkflowExecutionOptions({
    namespace: 'default',
    workflowExecution,
    workflowExecutionOptions: {
      timeSkippingConfig: { enabled: true, fastForwardConfig: { id, duration: msToTs(milliseconds) } },
    },
    updateMask: { paths: ['time_skipping_config'] },
  });
  await workflowService.pollWorkflowExecutionTimeSkipping({
    namespace: 'default',
    workflowExecution,
    fastForwardId: id,
  });
}
