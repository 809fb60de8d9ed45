import { accountOf } from '@tillflow/domain';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  condition,
  defineSignal,
  patched,
  setCurrentDetails,
  setHandler,
  sleep,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import type { CallPolicy } from '../shared/policy.js';
import type { CommandOutcome } from './activities.js';
import { NOT_CREATED } from './create-plan.js';
import { MAX_TRIES, pauseAfter } from './make-change.js';
import type { Rejection, Undecided } from './messages.js';

/** The workflow type. */
const PLAN_TURN_WORKFLOW = 'planTurn';

const turnOver = defineSignal('turnOver');

/**
 * A lock on the content of a plan of transfers: such a plan has no key, so equal plans that are created at the same
 * time could not be distinguished. Ends with a signal, or with the command that holds it.
 */
export async function planTurn(): Promise<void> {
  let isOver = false;
  setHandler(turnOver, () => {
    isOver = true;
  });
  setCurrentDetails('- a plan of transfers is being created; an equal plan waits');
  await condition(() => isOver);
}

/** An equal plan may need days until its outcome is known. */
const STILL_CREATED: Rejection = {
  kind: 'rejected',
  code: NOT_CREATED,
  message: 'An equal plan is still being created. Nothing was sent for this one',
  retryable: true,
  status: null,
};

/**
 * Runs `work` while no other command creates a plan of this content. Other contents do not wait.
 * @returns a rejection when another command still creates such a plan after {@link MAX_TRIES} tries
 */
export async function inTurn(
  content: string,
  policy: CallPolicy,
  work: () => Promise<CommandOutcome | Undecided>,
): Promise<CommandOutcome | Undecided> {
  const turn = await takeTurn(content, policy);
  if (turn === null) return STILL_CREATED;
  try {
    return await work();
  } finally {
    // An operator may have terminated it.
    await turn.signal(turnOver).catch(() => undefined);
  }
}

async function takeTurn(content: string, policy: CallPolicy) {
  const workflowId = ['command', accountOf(workflowInfo().taskQueue), 'plan_turn', content].join('/');
  for (let tries = 1; ; tries += 1) {
    try {
      return await startChild(PLAN_TURN_WORKFLOW, {
        workflowId,
        parentClosePolicy: 'TERMINATE',
        staticSummary: 'Create plans of transfers with equal content one at a time',
      });
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      // Each try costs ten events, and Temporal terminates a workflow with too many.
      if (tries >= MAX_TRIES && patched('equal-plan-ends')) return null;
      await sleep(pauseAfter(tries, policy), { summary: 'Until an equal plan is created' });
    }
  }
}
