import { deprecatePatch, workflowInfo, type WorkflowInterceptors } from '@temporalio/workflow';

/** The history's length in the first task of a run, unless that is repeated. */
const FIRST_TASK = 3;

/**
 * Temporal renews a task that takes more than 8 s, and it repeats a task whose worker failed or died. A repeated task gets the
 * jobs of the renewed ones too, all at once. When it accepts an update, a replay does not: it hands out the jobs of the first
 * task first, and the update with the next ones, because the acceptance is the first command after the task. So a task that may
 * be repeated, and that gets an update beside other jobs, begins with a marker: then a replay hands out all of them at once, too.
 * The marker is that of a deprecated patch, which any version of the code passes over. Source: Temporal's Core 1.24,
 * `history_update.rs`; `test/local-calls.spec.ts`.
 */
export function interceptors(): WorkflowInterceptors {
  /** The history's length in the first task that this worker carries out, and does not replay. */
  let firstLive: number | null = null;
  return {
    internals: [
      {
        activate(input, next) {
          const { historyLength, unsafe } = workflowInfo();
          if (!unsafe.isReplaying) firstLive ??= historyLength;
          const jobs = input.activation.jobs ?? [];
          const isRepeated = unsafe.isReplaying || (historyLength === firstLive && historyLength > FIRST_TASK);
          if (isRepeated && jobs.length > 1 && jobs.some(({ doUpdate }) => doUpdate)) {
            deprecatePatch(`repeated-task-${historyLength}`);
          }
          next(input);
        },
      },
    ],
  };
}
