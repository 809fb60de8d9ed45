import { workflowInfo } from '@temporalio/workflow';

/**
 * Makes the calls of one run that are local activities, so that each replay decides as the run did:
 *
 * - **One at a time.** Calls that end at different times wake the workflow one after the other. A replay knows all of
 *   their results at once, and wakes it once.
 * - **Within one workflow task.** When a local activity is not done after 8 s, for example on a worker without CPU, Temporal's
 *   library sends a workflow task heartbeat, and the server starts a new task. The first execution saw the time of the old
 *   task. A replay sees the time of the new one, and may decide otherwise. So this class fails such a task, and Temporal
 *   runs it again from its history.
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
  const mustBeTheSameTask = (): void => {
    if (!isReplay && workflowInfo().historyLength !== historyLength)
      throw new Error('The workflow task was renewed during a local call, and is carried out again');
  };
  let result: T;
  try {
    result = await call();
  } catch (error) {
    // The tries of a call that fails may take longer than a task, too.
    mustBeTheSameTask();
    throw error;
  }
  mustBeTheSameTask();
  return result;
}
