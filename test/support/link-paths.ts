import { CounterLinks, nameOnQueue, newCounterLink } from '@tillflow/temporal';
import { counterLinkWorkflowId } from '@tillflow/workflows';
import { eventually } from './eventually.js';
import type { Stack } from './stack.js';

/** One path through a link of the counter: the function causes it, and returns the id of the workflow. */
export type LinkPath = (stack: Stack) => Promise<string>;

const TILL = { terminal: 'till-7', store: { id: 'silom', name: 'Silom branch' } };

/** Every path through a link of the counter. The histories of all of them are committed and replayed. */
export const LINK_PATHS: Readonly<Record<string, LinkPath>> = {
  'counter-link-revoked': async (stack) => {
    const { links, id, workflowId } = await createLink(stack, 3_600);
    await eventually(async () => {
      const [events = []] = await stack.runsOfWorkflow(workflowId);
      if (!events.some((event) => event.timerStartedEventAttributes)) throw new Error('Not yet');
    });
    await links.revoke(id, 'key:ops');
    return workflowId;
  },
  'counter-link-expired': async (stack) => {
    const { workflowId } = await createLink(stack, 2);
    await stack.temporal.client.workflow.getHandle(workflowId).result();
    return workflowId;
  },
};

/** @param expiresIn seconds; the API permits a minute or more */
async function createLink({ temporal, taskQueue }: Stack, expiresIn: number) {
  const links = new CounterLinks(temporal, { taskQueue, readWithinMs: 10_000 });
  const link = newCounterLink(TILL, expiresIn, 'key:ops');
  await links.create(link);
  return { links, id: link.id, workflowId: nameOnQueue(counterLinkWorkflowId('default', link.id), taskQueue) };
}
