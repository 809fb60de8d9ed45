import { ApplicationFailure, CancellationScope, setCurrentDetails, sleep, workflowInfo } from '@temporalio/workflow';
import { clock } from '../shared/clock.js';
import { DEFAULT_CALL_POLICY, type CallPolicy } from '../shared/policy.js';
import { SENT_TOO_LATE } from '../shared/unknown-outcome.js';
import type { CommandOutcome } from './activities.js';
import { NOT_CREATED, PlanCreation } from './create-plan.js';
import { PlanDecisions } from './decisions.js';
import { makeChange, MAX_TRIES, pauseAfter } from './make-change.js';
import type { CommandFailure, CommandInput, CommandMemo, CommandResult, CreatePlan, Undecided } from './messages.js';
import { inTurn } from './plan-turn.js';

/**
 * Makes one change at the provider that a person requested, once, and stores who requested what and when. Fails, or
 * completes with the rejection, when nothing was changed: the same change may then be requested again.
 */
export async function command(input: CommandInput): Promise<CommandResult> {
  const { command: requested, answerBy } = input;
  const policy = { ...DEFAULT_CALL_POLICY, ...input.policy };
  const decisions = new PlanDecisions(showOutcome);
  setCurrentDetails(`${auditDetails()}\n- in progress`);
  // A cancellation must not leave a command half done: money may be in flight.
  const outcome = await CancellationScope.nonCancellable(() =>
    requested.kind === 'create_plan'
      ? createPlan(requested, answerBy, policy, decisions)
      : retryOnceCallerHasPending(answerBy, policy, () => makeChange(requested, policy)),
  );
  showOutcome(outcome);
  switch (outcome.kind) {
    case 'done':
    case 'undecided':
      return outcome;
    case 'rejected':
      // Only a failed workflow frees the idempotency key of a plan.
      if (requested.kind === 'create_plan') throw failure('command_rejected', outcome);
      return outcome;
    case 'unknown':
      throw failure('command_unanswered', outcome);
  }
}

/** The idempotency key is not free while the workflow waits for an operator's decision. */
async function createPlan(
  requested: CreatePlan,
  answerBy: number,
  policy: CallPolicy,
  decisions: PlanDecisions,
): Promise<CommandOutcome | Undecided> {
  let plan = new PlanCreation(requested, policy);
  const outcome = await retryOnceCallerHasPending(answerBy, policy, () => {
    plan = new PlanCreation(requested, policy);
    return requested.turn === undefined ? plan.create() : inTurn(requested.turn, policy, () => plan.create());
  });
  return outcome.kind === 'undecided' ? decisions.untilDecided(plan, outcome) : outcome;
}

/**
 * While the requester waits, a command that the worker could not send ends with a rejection, so that it does not run
 * later without their knowledge. Once the requester has the answer "pending", the command is tried again for a while.
 */
async function retryOnceCallerHasPending<T extends CommandOutcome | Undecided>(
  answerBy: number,
  policy: CallPolicy,
  work: () => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    const outcome = await work();
    if (outcome.kind !== 'rejected' || !outcome.retryable || tries >= MAX_TRIES) return outcome;
    // It was sent several times already.
    if (outcome.code === NOT_CREATED) return outcome;
    const wasLate = outcome.code === SENT_TOO_LATE;
    if (!wasLate && clock() < answerBy) return outcome;
    if (!wasLate) await sleep(pauseAfter(tries, policy), { summary: 'Until the next try' });
  }
}

function failure(type: CommandFailure, outcome: Extract<CommandOutcome, { message: string }>): ApplicationFailure {
  return ApplicationFailure.create({ type, message: outcome.message, nonRetryable: true, details: [outcome] });
}

function showOutcome(outcome: CommandOutcome | Undecided): void {
  setCurrentDetails(`${auditDetails()}\n- **${describeOutcome(outcome)}**`);
}

function auditDetails(): string {
  const { audit } = workflowInfo().memo as CommandMemo;
  const what = [audit.kind, ...(audit.target === '' ? [] : [audit.target])].join(' ');
  return `- \`${what}\` (${audit.fields.join(', ')}) by ${audit.by} at ${audit.asked_at}`;
}

function describeOutcome(outcome: CommandOutcome | Undecided): string {
  switch (outcome.kind) {
    case 'done':
      return `done ${outcome.value.id ?? ''}`.trim();
    case 'rejected':
      return `rejected: ${outcome.code}`;
    case 'unknown':
      return `unknown: ${outcome.code}; the command may be requested again`;
    case 'undecided': {
      const named = outcome.candidates.length === 0 ? '' : `: ${outcome.candidates.join(', ')}`;
      return `undecided: ${outcome.message}${named}. Compare with the provider, then run \`pnpm tillflow plans\``;
    }
  }
}
