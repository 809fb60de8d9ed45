import { formatInstant } from '@tillflow/domain';
import { allHandlersFinished, condition, setHandler, upsertMemo, workflowInfo } from '@temporalio/workflow';
import type { Resolution } from '../shared/resolution.js';
import { clock } from '../shared/clock.js';
import type { CommandOutcome } from './activities.js';
import { invalidResolution, type PlanCreation } from './create-plan.js';
import { resolvePlan, type CommandMemo, type PlanDecision, type Undecided } from './messages.js';

/** A provider's id. */
const ID = /^[A-Za-z0-9_-]{1,64}$/;

/** An operator's decisions about a plan whose outcome Tillflow cannot find out. */
export class PlanDecisions {
  #plan: PlanCreation | null = null;
  #pending: Undecided | null = null;
  #outcome: CommandOutcome | null = null;

  /** Accepts decisions from the start of the workflow. @param show shows a pending decision in the Temporal UI */
  constructor(private readonly show: (pending: Undecided) => void) {
    setHandler(resolvePlan, (resolution) => this.#decide(resolution), {
      validator: (resolution) => this.#check(resolution),
    });
  }

  async untilDecided(plan: PlanCreation, pending: Undecided): Promise<CommandOutcome> {
    this.#plan = plan;
    this.#publish(pending);
    await condition(() => this.#outcome !== null && allHandlersFinished());
    if (this.#outcome === null) throw new Error('There is no decision');
    return this.#outcome;
  }

  #check(resolution: Resolution): void {
    if (this.#pending === null || this.#outcome !== null) throw invalidResolution('No decision is needed');
    if (resolution.reason.trim() === '') throw invalidResolution('A reason is needed');
    if (resolution.action === 'adopt' && !ID.test(resolution.id)) throw invalidResolution('Not the id of a plan');
  }

  async #decide(resolution: Resolution): Promise<PlanDecision> {
    const outcome = await this.#outcomeOf(resolution);
    if (this.#outcome !== null) throw invalidResolution('Another decision came first');
    const { decisions = [] } = workflowInfo().memo as CommandMemo;
    upsertMemo({ decisions: [...decisions, { ...resolution, at: formatInstant(clock()) }] });
    if (outcome.kind === 'undecided') {
      this.#publish(outcome);
      return 'undecided';
    }
    this.#outcome = outcome;
    upsertMemo({ undecided: null });
    return outcome.kind === 'done' ? 'adopted' : 'abandoned';
  }

  #outcomeOf(resolution: Resolution): Promise<CommandOutcome | Undecided> {
    if (this.#plan === null) throw invalidResolution('No decision is needed');
    switch (resolution.action) {
      case 'look':
        return this.#plan.searchAgain();
      case 'adopt':
        return this.#plan.adopt(resolution.id, this.#pending?.candidates ?? []);
      case 'abandon':
        return Promise.resolve({ kind: 'unknown', code: 'abandoned', message: `abandoned: ${resolution.reason}` });
    }
  }

  #publish(pending: Undecided): void {
    this.#pending = pending;
    const { undecided } = workflowInfo().memo as CommandMemo;
    upsertMemo({ undecided: { ...pending, since: undecided?.since ?? formatInstant(clock()) } });
    this.show(pending);
  }
}
