import { formatInstant, type Instant } from '@tillflow/domain';
import { ApplicationFailure, sleep } from '@temporalio/workflow';
import { clock } from '../shared/clock.js';
import type { Lookup, NotShown } from '../shared/lookup.js';
import { sendWindow, type CallPolicy } from '../shared/policy.js';
import { lookupLater, provesAbsence, startCall, startLookup, type PendingCall } from '../shared/unknown-outcome.js';
import type { CommandOutcome, FoundPlan } from './activities.js';
import { makeChange } from './make-change.js';
import type { CreatePlan, Done, Rejection, Undecided } from './messages.js';
import * as calls from './provider-calls.js';

/** The most creates of one plan. Each repeat needs lookups that prove that the create before had no effect. */
const MAX_CREATES = 3;
/** Lookups while the provider does not answer; the last ones are a day apart. */
const MAX_LOOKUPS = 60;
/** Lookups for a first create that took effect after it was repeated. */
const MAX_LATE_EFFECT_CHECKS = 5;

/** No create was answered, and lookups prove that none created a plan. */
export const NOT_CREATED = 'not_created';

type Created = Extract<CommandOutcome, { kind: 'done' }>;

/**
 * Creates a recurring plan once, however often an answer is lost. The provider has no idempotency key for plans, and a
 * second plan would move money twice. So an unknown outcome is looked up, and the create is repeated only after two
 * lookups found nothing, the second of them when the first call could no longer be in flight.
 */
export class PlanCreation {
  readonly #since: Instant = clock();
  readonly #pending: PendingCall = startCall(this.#since);
  /** Plans that existed before: this command created none of them, however equal they are. */
  #before: readonly string[] = [];

  constructor(
    private readonly command: CreatePlan,
    private readonly policy: CallPolicy,
  ) {}

  async create(): Promise<CommandOutcome | Undecided> {
    const before = await this.#find();
    if ('unseen' in before) return notSent(before);
    // An earlier run with this key created it, and was terminated before it could report.
    const own = before.seen.filter((plan) => plan.hasKey && !plan.hasEnded);
    if (own.length > 0) return this.#oneOf(own);
    this.#before = before.seen.map(idOf);
    for (let creates = 1; ; creates += 1) {
      const { inFlightUntil, ...window } = sendWindow(this.policy, clock());
      const outcome = await calls.createPlan({ sealed: this.command.sealed, ...window });
      // Tillflow does not try again: the next plan would differ in the same way.
      if (outcome.kind === 'otherwise') return undecided('mismatch', outcome.message, [outcome.id]);
      if (outcome.kind === 'done') return creates === 1 ? outcome : this.#checkForLateEffect(outcome);
      // Neither this create nor an earlier one had an effect.
      if (outcome.kind === 'rejected' && !this.#pending.wasUnknown) return outcome;

      startLookup(this.policy, this.#pending, clock(), outcome, inFlightUntil);
      const found = await this.#lookUp();
      if (found === null)
        return undecided('unresolved', 'Tillflow could not find out whether the plan was created', []);
      if (found.length > 0) return this.#foundAfter(creates, found);
      if (outcome.kind === 'rejected' && !outcome.retryable) return outcome;
      if (creates >= MAX_CREATES) return this.#notCreated();
    }
  }

  /**
   * The plan that the provider shows now, for an operator's decision. @throws {ApplicationFailure} `invalid_resolution`
   */
  async searchAgain(): Promise<CommandOutcome | Undecided> {
    const lookup = await this.#find();
    if ('unseen' in lookup) throw invalidResolution(`The provider did not answer: ${lookup.unseen}`);
    const found = lookup.seen.filter((plan) => !plan.hasEnded);
    return found.length > 0 ? this.#oneOf(found) : undecided('unresolved', 'The provider shows no such plan', []);
  }

  /**
   * The plan that an operator names: it matches the request, or it was one of the candidates.
   * @throws {ApplicationFailure} `invalid_resolution`
   */
  async adopt(plan: string, candidates: readonly string[]): Promise<CommandOutcome> {
    const lookup = await calls.retrievePlan({ sealed: this.command.sealed, plan });
    if ('unseen' in lookup) throw invalidResolution(`The provider does not show ${plan}: ${lookup.unseen}`);
    if (lookup.seen.matches || candidates.includes(plan)) return created(lookup.seen);
    throw invalidResolution(`${plan} differs from the request, or was created with another key`);
  }

  /** @returns plans that may be the requested one; an empty list proves that there is none; null: it stays unknown */
  async #lookUp(): Promise<readonly FoundPlan[] | null> {
    const pending = this.#pending;
    for (let lookups = 0; lookups < MAX_LOOKUPS; lookups += 1) {
      await sleep(Math.max(pending.dueAt - clock(), 1), { summary: 'Until the next search for the plan' });
      const retrievedAt = clock();
      const lookup = await this.#find();
      if ('seen' in lookup && lookup.seen.length > 0) return lookup.seen;
      if ('seen' in lookup && provesAbsence(pending, retrievedAt)) return [];
      lookupLater(this.policy, pending, clock());
    }
    return null;
  }

  /** A plan that is found after a repeat may come from either create: the other one may still take effect. */
  async #foundAfter(creates: number, found: readonly FoundPlan[]): Promise<CommandOutcome | Undecided> {
    const one = await this.#oneOf(found);
    return creates === 1 || one.kind !== 'done' ? one : this.#checkForLateEffect(one);
  }

  /** Stops every further plan with the key. Several plans without a key cannot be distinguished. */
  async #oneOf(found: readonly FoundPlan[]): Promise<CommandOutcome | Undecided> {
    const own = found.filter(({ hasKey }) => hasKey);
    const candidates = own.length > 0 ? own : found;
    const plan = candidates.find(({ matches, hasEnded }) => matches && !hasEnded) ?? candidates[0];
    if (plan === undefined) return undecided('unresolved', 'There is no plan', []);
    if (!plan.matches) return undecided('mismatch', 'A plan has the key and differs from the request', [idOf(plan)]);
    const others = candidates.filter((other) => other !== plan);
    if (!plan.hasKey && (others.length > 0 || plan.lacksKey)) return ambiguous(found);
    return (await this.#stopAll(others)) ? created(plan) : notStopped(candidates);
  }

  /**
   * A first create may take effect even after lookups showed no effect and it was repeated: its worker may have been
   * frozen.
   */
  async #checkForLateEffect(done: Created): Promise<CommandOutcome | Undecided> {
    const { id: createdId } = done.value;
    for (let checks = 0; checks < MAX_LATE_EFFECT_CHECKS; checks += 1) {
      await sleep(this.policy.lateEffectCheckMs, { summary: 'Until the late-effect check' });
      const lookup = await this.#find();
      if ('unseen' in lookup) continue;
      const others = lookup.seen.filter(({ id }) => id !== createdId);
      if (!(await this.#stopAll(others.filter(({ hasKey }) => hasKey)))) return notStopped(lookup.seen);
      const isRecognized = lookup.seen.some(({ id, hasKey }) => id === createdId && hasKey);
      return isRecognized || others.length === 0 ? done : ambiguous(lookup.seen);
    }
    return done;
  }

  /** @returns whether none of them moves money any more */
  async #stopAll(plans: readonly FoundPlan[]): Promise<boolean> {
    let areStopped = true;
    for (const plan of plans.filter(({ hasEnded }) => !hasEnded)) {
      const { kind } = await makeChange({ kind: 'stop_plan', plan: idOf(plan) }, this.policy);
      areStopped &&= kind === 'done';
    }
    return areStopped;
  }

  /** A repeated request finds a late plan by its key. A late plan without a key could not be distinguished. */
  #notCreated(): Rejection | Undecided {
    const message = `The provider answered none of ${MAX_CREATES} requests, and shows no such plan`;
    if (this.command.turn !== undefined) return undecided('unresolved', message, []);
    return { kind: 'rejected', code: NOT_CREATED, message, retryable: true, status: null };
  }

  #find(): Promise<Lookup<readonly FoundPlan[]>> {
    return calls.findPlans({
      sealed: this.command.sealed,
      since: formatInstant(this.#since),
      except: this.#before,
    });
  }
}

export function invalidResolution(message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, 'invalid_resolution');
}

function idOf({ id }: Done): string {
  return id ?? '';
}

function created({ id, reply }: FoundPlan): Created {
  return { kind: 'done', value: { id, reply } };
}

function ambiguous(found: readonly FoundPlan[]): Undecided {
  const message = found.length > 1 ? 'Several plans match the request' : 'A plan matches the request and has no key';
  return undecided('ambiguous', message, found.map(idOf));
}

function notStopped(found: readonly FoundPlan[]): Undecided {
  return undecided('ambiguous', 'The plan was created twice, and one of the two could not be stopped', found.map(idOf));
}

function undecided(code: Undecided['code'], message: string, candidates: readonly string[]): Undecided {
  return { kind: 'undecided', code, message, candidates };
}

/** The first search failed. Only a 4xx status says something about the plan. */
function notSent({ code, unseen, status = null }: NotShown): Rejection {
  const isRefusal = status !== null && status >= 400 && status < 500;
  return {
    kind: 'rejected',
    code,
    message: unseen,
    retryable: !isRefusal || status === 429,
    status: isRefusal ? status : null,
  };
}
