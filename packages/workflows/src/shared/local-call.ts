import { workflowInfo } from '@temporalio/workflow';

/**
 * Makes a call by local activities within one workflow task. Temporal renews a task whose local activity is not done
 * after 8 s, which a worker without CPU can cause, however short the activity is. A replay of such a task reads the time of
 * the renewed task from its beginning, so its code could decide otherwise than it did, and the workflow would stand still.
 * @throws Error when the task was renewed meanwhile. It fails the task, which is then carried out again from its history
 */
export async function inOneTask<T>(call: () => Promise<T>): Promise<T> {
  const { historyLength, unsafe } = workflowInfo();
  // A task that is carried out again has the times of its history.
  const isReplay = unsafe.isReplaying;
  const result = await call();
  if (!isReplay && workflowInfo().historyLength !== historyLength)
    throw new Error('The workflow task was renewed during a local call, and is carried out again');
  return result;
}
