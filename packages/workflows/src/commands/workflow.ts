import {
  ApplicationFailure,
  CancellationScope,
  patched,
  setCurrentDetails,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import { DEFAULT_CALL_POLICY, type CallPolicy } from '../shared/policy.js';
import { clock } from '../shared/clock.js';
import type { CommandOutcome } from './activities.js';
import { makeChange, MAX_TRIES, pauseAfter } from './changing.js';
import type { CommandFailure, CommandInput, CommandMemo, CommandResult, CreatePlan, Undecided } from './command.js';
import { Deciding } from './deciding.js';
import { NOT_CREATED, Planning } from './planning.js';
import { inTurn } from './turn.js';

/**
 * One thing that a person asked to be changed at the provider, done once, and its audit: who, when, what. Fails, or
 * completes with the refusal, when nothing was changed: the same may be asked for again under the same id.
 */
export async function command(input: CommandInput): Promise<CommandResult> {
  const policy = { ...DEFAULT_CALL_POLICY, ...input.policy };
  const { command: asked } = input;
  const deciding = new Deciding((question) => setCurrentDetails(`${inDetail()}\n- **${inWords(question)}**`));
  deciding.listen();
  setCurrentDetails(`${inDetail()}\n- under way`);
  // Money may be in flight: it is not left half done because someone cancels it.
  const outcome = await CancellationScope.nonCancellable(() =>
    asked.kind === 'create_plan'
      ? planned(asked, input.answerBy, policy, deciding)
      : asPromised(input.answerBy, policy, () => makeChange(asked, policy)),
  );
  setCurrentDetails(`${inDetail()}\n- **${inWords(outcome)}**`);
  switch (outcome.kind) {
    case 'done':
    case 'undecided':
      return outcome;
    case 'rejected':
      if (input.takesRefusals === true) return outcome;
      throw failure('command_rejected', outcome.message, outcome);
    case 'unknown':
      throw failure('command_unanswered', outcome.message, outcome);
  }
}

/** What the machine cannot decide about waits for a person: the key is not free meanwhile. */
async function planned(
  asked: CreatePlan,
  answerBy: number,
  policy: CallPolicy,
  deciding: Deciding,
): Promise<CommandOutcome | Undecided> {
  let planning = new Planning(asked, policy);
  const outcome = await asPromised(answerBy, policy, () => {
    planning = new Planning(asked, policy);
    return asked.turn === undefined ? planning.make() : inTurn(asked.turn, policy, () => planning.make());
  });
  if (outcome.kind !== 'undecided' || !patched('plan-waits-for-a-person')) return outcome;
  return deciding.untilDecided(planning, outcome);
}

/**
 * What could not be sent now is told to who waits for it, so that nothing happens behind their back. Who was told
 * "pending" was promised it: then it is tried again, for a while.
 */
async function asPromised<T extends CommandOutcome | Undecided>(
  answerBy: number,
  policy: CallPolicy,
  work: () => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    const outcome = await work();
    if (outcome.kind !== 'rejected' || !outcome.retryable || tries >= MAX_TRIES) return outcome;
    // It was sent, more than once.
    if (outcome.code === NOT_CREATED) return outcome;
    const wasLate = outcome.code === SENT_TOO_LATE;
    if (!wasLate && clock() < answerBy) return outcome;
    if (!wasLate) await sleep(pauseAfter(tries, policy), { summary: 'Until it is tried again' });
  }
}

/** The client's word for a call that the worker came to too late: nothing was sent, and nothing is wrong. */
const SENT_TOO_LATE = 'send_by_passed';

function failure(type: CommandFailure, message: string, detail: CommandOutcome): ApplicationFailure {
  return ApplicationFailure.create({ type, message, nonRetryable: true, details: [detail] });
}

function inDetail(): string {
  const { audit } = workflowInfo().memo as CommandMemo;
  const what = [audit.kind, ...(audit.target === '' ? [] : [audit.target])].join(' ');
  return `- \`${what}\` (${audit.fields.join(', ')}) by ${audit.by} at ${audit.asked_at}`;
}

function inWords(outcome: CommandOutcome | Undecided): string {
  switch (outcome.kind) {
    case 'done':
      return `done ${outcome.value.id ?? ''}`.trim();
    case 'rejected':
      return `rejected: ${outcome.code}`;
    case 'unknown':
      return `unknown: ${outcome.code}; it may be asked for again`;
    case 'undecided': {
      const named = outcome.candidates.length === 0 ? '' : `: ${outcome.candidates.join(', ')}`;
      return `undecided: ${outcome.message}${named}. Look at the provider, then \`tillflow plans\``;
    }
  }
}
