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
  /** The history's length when the call began. Null: it began in a replay. */
  #begunIn: number | null = null;
  /** The workflow's time when it read its clock first during the call, in a task that is no replay. Milliseconds. */
  #readAt: number | null = null;

  /** @returns the call's result, after all calls before it have ended. @throws also Error when the task was renewed meanwhile */
  make<T>(call: () => Promise<T>): Promise<T> {
    const turn = this.#underWay === 0 ? this.#inOneTask(call) : this.#last.then(() => this.#inOneTask(call));
    this.#underWay += 1;
    this.#last = turn
      .finally(() => {
        this.#underWay -= 1;
      })
      .catch(() => undefined);
    return turn;
  }

  /** Call it before the workflow reads its clock: a call may be under way. */
  readsClock(): void {
    if (!workflowInfo().unsafe.isReplaying) this.#readAt ??= Date.now();
  }

  async #inOneTask<T>(call: () => Promise<T>): Promise<T> {
    const { historyLength, unsafe } = workflowInfo();
    this.#begunIn = unsafe.isReplaying ? null : historyLength;
    this.#readAt = null;
    let result: T;
    try {
      result = await call();
    } catch (error) {
      // The tries of a call that fails may take longer than a task, too.
      this.#mustBeAsInAReplay();
      throw error;
    }
    this.#mustBeAsInAReplay();
    return result;
  }

  #mustBeAsInAReplay(): void {
    // A replay of a call that began in an earlier task hands out its result with the jobs of the task, at the later time.
    const isRight =
      this.#begunIn === null
        ? this.#readAt === null || this.#readAt === Date.now()
        : this.#begunIn === workflowInfo().historyLength;
    if (!isRight) throw new Error('The workflow task was renewed during a local call, and is carried out again');
  }
}
