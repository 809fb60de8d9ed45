import { formatInstant } from '@tillflow/domain';
import { allHandlersFinished, condition, setHandler, upsertMemo, workflowInfo } from '@temporalio/workflow';
import { clock } from '../shared/clock.js';
import type { Resolution } from '../checkout/messages.js';
import type { CommandOutcome } from './activities.js';
import type { CommandMemo, Undecided } from './command.js';
import { resolvePlan, type PlanDecision } from './messages.js';
import { invalidResolution, type Planning } from './planning.js';

/** A provider's id. */
const ID = /^[A-Za-z0-9_-]{1,64}$/;

/** What a person decides where the machine cannot: which plan is the one that was asked for, or that none is. */
export class Deciding {
  #planning: Planning | null = null;
  #question: Undecided | null = null;
  #outcome: CommandOutcome | null = null;

  /** @param tell shows a question to people */
  constructor(private readonly tell: (question: Undecided) => void) {}

  listen(): void {
    setHandler(resolvePlan, (resolution) => this.#decide(resolution), {
      validator: (resolution) => this.#check(resolution),
    });
  }

  async untilDecided(planning: Planning, question: Undecided): Promise<CommandOutcome> {
    this.#planning = planning;
    this.#ask(question);
    await condition(() => this.#outcome !== null && allHandlersFinished());
    if (this.#outcome === null) throw new Error('Nothing was decided');
    return this.#outcome;
  }

  #check(resolution: Resolution): void {
    if (this.#question === null || this.#outcome !== null) throw invalidResolution('Nothing is to be decided');
    if (resolution.reason.trim() === '') throw invalidResolution('A reason is needed');
    if (resolution.action === 'adopt' && !ID.test(resolution.id)) throw invalidResolution('It is no id of a plan');
  }

  async #decide(resolution: Resolution): Promise<PlanDecision> {
    const outcome = await this.#outcomeOf(resolution);
    if (this.#outcome !== null) throw invalidResolution('It was decided meanwhile');
    const { decisions = [] } = workflowInfo().memo as CommandMemo;
    upsertMemo({ decisions: [...decisions, { ...resolution, at: formatInstant(clock()) }] });
    if (outcome.kind === 'undecided') {
      this.#ask(outcome);
      return 'undecided';
    }
    this.#outcome = outcome;
    upsertMemo({ undecided: null });
    return outcome.kind === 'done' ? 'adopted' : 'abandoned';
  }

  #outcomeOf(resolution: Resolution): Promise<CommandOutcome | Undecided> {
    if (this.#planning === null) throw invalidResolution('Nothing is to be decided');
    switch (resolution.action) {
      case 'look':
        return this.#planning.lookAgain();
      case 'adopt':
        return this.#planning.adopt(resolution.id, this.#question?.candidates ?? []);
      case 'abandon':
        return Promise.resolve({ kind: 'unknown', code: 'abandoned', message: `given up: ${resolution.reason}` });
    }
  }

  #ask(question: Undecided): void {
    this.#question = question;
    const { undecided } = workflowInfo().memo as CommandMemo;
    upsertMemo({ undecided: { ...question, since: undecided?.since ?? formatInstant(clock()) } });
    this.tell(question);
  }
}
