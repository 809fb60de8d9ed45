import { workflowInfo } from '@temporalio/workflow';

/**
 * Makes the calls of one run that are local activities, so that each replay decides as the run did:
 *
 * - **One at a time.** Calls that end at different times wake the workflow one after the other. A replay knows all of
 *   their results at once, and wakes it once.
 * - **Within one workflow task.** Temporal renews a task whose local activity is not done after 8 s, which a worker without
 *   CPU can cause, however short the activity is. A replay of such a task reads the time of the renewed task from its
 *   beginning. So a renewed task fails, and is carried out again from its history.
 */
export class LocalCalls {
  #last: Promise<unknown> = Promise.resolve();
  #underWay = 0;

  /** @returns the call's result, after all calls before it have ended. @throws also Error when the task was renewed meanwhile */
  make<T>(call: () => Promise<T>): Promise<T> {
    const turn = this.#underWay === 0 ? inOneTask(call) : this.#last.then(() => inOneTask(call));
    this.#underWay += 1;
    this.#last = turn
      .finally(() => {
        this.#underWay -= 1;
      })
      .catch(() => undefined);
    return turn;
  }
}

async function inOneTask<T>(call: () => Promise<T>): Promise<T> {
  const { historyLength, unsafe } = workflowInfo();
  // A task that is carried out again has the times of its history.
  const isReplay = unsafe.isReplaying;
  const result = await call();
  if (!isReplay && workflowInfo().historyLength !== historyLength)
    throw new Error('The workflow task was renewed during a local call, and is carried out again');
  return result;
}
