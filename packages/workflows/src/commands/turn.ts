import { DEFAULT_ACCOUNT } from '@tillflow/domain';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { condition, defineSignal, setCurrentDetails, setHandler, sleep, startChild } from '@temporalio/workflow';
import type { CallPolicy } from '../shared/policy.js';
import { pauseAfter } from './changing.js';

/** The workflow's type, as `startChild` names it. */
const PLAN_TURN_WORKFLOW = 'planTurn';

const turnOver = defineSignal('turnOver');

/**
 * Held by the command that makes a plan of transfers: such a plan carries no key, so two that are alike and under way
 * together could not be told apart. Ends with its turn, or with the command.
 */
export async function planTurn(): Promise<void> {
  let isOver = false;
  setHandler(turnOver, () => {
    isOver = true;
  });
  setCurrentDetails('- a plan of transfers is being made; another like it waits');
  await condition(() => isOver);
}

/** Does the work when no other command of this content is at it. Plans of other contents do not wait. */
export async function inTurn<T>(content: string, policy: CallPolicy, work: () => Promise<T>): Promise<T> {
  const turn = await takeTurn(content, policy);
  try {
    return await work();
  } finally {
    // One that an operator has ended is over, too.
    await turn.signal(turnOver).catch(() => undefined);
  }
}

async function takeTurn(content: string, policy: CallPolicy) {
  const workflowId = ['command', DEFAULT_ACCOUNT, 'plan_turn', content].join('/');
  for (let tries = 1; ; tries += 1) {
    try {
      return await startChild(PLAN_TURN_WORKFLOW, {
        workflowId,
        parentClosePolicy: 'TERMINATE',
        staticSummary: 'One plan of transfers of a kind at a time',
      });
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      await sleep(pauseAfter(tries, policy), { summary: 'Until a plan like it is made' });
    }
  }
}
