import { formatInstant, type Instant } from '@tillflow/domain';
import { ApplicationFailure, patched, sleep } from '@temporalio/workflow';
import type { Lookup } from '../shared/lookup.js';
import { sendWindow, type CallPolicy } from '../shared/policy.js';
import { lookupLater, provesAbsence, startCall, startLookup, type PendingCall } from '../shared/unknown-outcome.js';
import { clock } from '../shared/clock.js';
import type { CommandOutcome, FoundPlan } from './activities.js';
import * as calls from './calls.js';
import { makeChange } from './changing.js';
import type { CreatePlan, Done, Rejection, Undecided } from './command.js';

/** Creates that may be made, each after it was proved that the one before had no effect. */
const MAX_CREATES = 3;
/** Looks at a provider that does not answer, the last of them daily. */
const MAX_LOOKS = 60;
/** Looks for a first create that came through after it was repeated. */
const MAX_SECOND_LOOKS = 5;

/** No create was answered, and the looks show that none made a plan. */
export const NOT_CREATED = 'not_created';

/** A plan that is there, and was told of or found. */
type Made = Extract<CommandOutcome, { kind: 'done' }>;

/**
 * Makes a recurring plan once, however often its answer is lost. The provider knows no idempotency for it, and a
 * second plan would move money twice: an unknown outcome is looked for, and the create made again only after two looks
 * found nothing, the second when nothing of the first call could be under way any more.
 */
export class Planning {
  readonly #since: Instant = clock();
  readonly #resolving: PendingCall = startCall(this.#since);
  /** Plans that were there before: none of them is what this command makes, however much it looks like it. */
  #before: readonly string[] = [];

  constructor(
    private readonly command: CreatePlan,
    private readonly policy: CallPolicy,
  ) {}

  async make(): Promise<CommandOutcome | Undecided> {
    const before = await this.#find();
    if ('unseen' in before) return notSent(before);
    // An earlier run under this key made it, and ended before it could tell.
    const own = before.seen.filter((plan) => plan.isOurs && isRunning(plan));
    if (own.length > 0 && patched('plan-adopts-its-own')) return this.#oneOf(own);
    this.#before = before.seen.map(idOf);
    for (let creates = 1; ; creates += 1) {
      const { inFlightUntil, ...window } = sendWindow(this.policy, clock());
      const outcome = await calls.createPlan({ sealed: this.command.sealed, ...window });
      // Another one would be like it.
      if (outcome.kind === 'otherwise') return undecided('mismatch', outcome.message, [outcome.id]);
      if (outcome.kind === 'done') return creates === 1 ? outcome : this.#aloneAfterRepeat(outcome);
      // Provably without effect, and nothing before it can have had one.
      if (outcome.kind === 'rejected' && !this.#resolving.wasUnknown) return outcome;

      startLookup(this.policy, this.#resolving, clock(), outcome, inFlightUntil);
      const found = await this.#lookUntilKnown();
      if (found === null) return undecided('unresolved', 'Nobody could find out whether the plan was made', []);
      if (found.length > 0) return this.#foundAfter(creates, found);
      if (outcome.kind === 'rejected' && !outcome.retryable) return outcome;
      if (creates >= MAX_CREATES) return this.#notCreated();
    }
  }

  /** What is there now, for a person who has seen to it. @throws {ApplicationFailure} `invalid_resolution` */
  async lookAgain(): Promise<CommandOutcome | Undecided> {
    const look = await this.#find();
    if ('unseen' in look) throw invalidResolution(`The provider did not answer: ${look.unseen}`);
    const found = look.seen.filter(isRunning);
    return found.length > 0 ? this.#oneOf(found) : undecided('unresolved', 'No plan that may be it is there', []);
  }

  /**
   * The plan that a person says is ours: as it was asked for, or one of those that were shown to them.
   * @throws {ApplicationFailure} `invalid_resolution`
   */
  async adopt(plan: string, shown: readonly string[]): Promise<CommandOutcome> {
    const look = await calls.retrievePlan({ sealed: this.command.sealed, plan });
    if ('unseen' in look) throw invalidResolution(`The provider does not show ${plan}: ${look.unseen}`);
    if (look.seen.fits || shown.includes(plan)) return made(look.seen);
    throw invalidResolution(`${plan} is not as it was asked for, or was made under another key`);
  }

  /** @returns what may be the plan; nothing when it is proved that there is none; null when nobody can tell. */
  async #lookUntilKnown(): Promise<readonly FoundPlan[] | null> {
    const { policy } = this;
    const resolving = this.#resolving;
    for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
      await sleep(Math.max(resolving.dueAt - clock(), 1), { summary: 'Until the next look for the plan' });
      const retrievedAt = clock();
      const look = await this.#find();
      if ('seen' in look && look.seen.length > 0) return look.seen;
      if ('seen' in look && provesAbsence(resolving, retrievedAt)) return [];
      lookupLater(policy, resolving, clock());
    }
    return null;
  }

  /** Found after a repeat, it may be of either create: the other may still come through. */
  async #foundAfter(creates: number, found: readonly FoundPlan[]): Promise<CommandOutcome | Undecided> {
    const one = await this.#oneOf(found);
    if (creates === 1 || one.kind !== 'done' || !patched('plan-looks-again-after-a-find')) return one;
    return this.#aloneAfterRepeat(one);
  }

  /** A plan with our key is ours, and a second one with it is stopped. Of several without one nobody knows which it is. */
  async #oneOf(found: readonly FoundPlan[]): Promise<CommandOutcome | Undecided> {
    const ours = found.filter(({ isOurs }) => isOurs);
    const candidates = ours.length > 0 ? ours : found;
    const kept = candidates.find((plan) => plan.fits && isRunning(plan)) ?? candidates[0];
    if (kept === undefined) return undecided('unresolved', 'There is no plan', []);
    if (!kept.fits) return undecided('mismatch', 'A plan has our key and is not as it was asked for', [idOf(kept)]);
    const others = candidates.filter((plan) => plan !== kept);
    if (!kept.isOurs && (others.length > 0 || kept.isForeign === true)) return ambiguous(found);
    return (await this.#stopAll(others)) ? made(kept) : notStopped(candidates);
  }

  /** A first create may come through after it was proved absent and made again: a freeze at the worst moment. */
  async #aloneAfterRepeat(done: Made): Promise<CommandOutcome | Undecided> {
    const { id: madeId } = done.value;
    for (let looks = 0; looks < MAX_SECOND_LOOKS; looks += 1) {
      await sleep(this.policy.lateEffectCheckMs, { summary: 'Until the look for a first plan that came late' });
      const look = await this.#find();
      if ('unseen' in look) continue;
      const others = look.seen.filter(({ id }) => id !== madeId);
      if (!(await this.#stopAll(others.filter(({ isOurs }) => isOurs)))) return notStopped(look.seen);
      const isKnown = look.seen.some(({ id, isOurs }) => id === madeId && isOurs);
      if (isKnown || others.length === 0) return done;
      return ambiguous(look.seen);
    }
    return done;
  }

  /** @returns whether none of them moves money any more. */
  async #stopAll(plans: readonly FoundPlan[]): Promise<boolean> {
    const outcomes: CommandOutcome[] = [];
    for (const plan of plans.filter(isRunning)) {
      outcomes.push(await makeChange({ kind: 'stop_plan', plan: idOf(plan) }, this.policy));
    }
    return outcomes.every(({ kind }) => kind === 'done');
  }

  /** Who asks again finds a plan that comes late by its key; one that carries none could not be told from another. */
  #notCreated(): Rejection | Undecided {
    const message = `It was asked for ${MAX_CREATES} times and never answered, and no plan is there`;
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

function isRunning({ hasEnded }: FoundPlan): boolean {
  return hasEnded !== true;
}

function idOf({ id }: Done): string {
  return id ?? '';
}

function made({ id, reply }: FoundPlan): Made {
  return { kind: 'done', value: { id, reply } };
}

function ambiguous(found: readonly FoundPlan[]): Undecided {
  const message = found.length > 1 ? 'Several plans are as it was asked for' : 'A plan may be it, and carries no key';
  return undecided('ambiguous', message, found.map(idOf));
}

function notStopped(found: readonly FoundPlan[]): Undecided {
  return undecided('ambiguous', 'It was made twice, and one of them could not be stopped', found.map(idOf));
}

function undecided(code: Undecided['code'], message: string, candidates: readonly string[]): Undecided {
  return { kind: 'undecided', code, message, candidates };
}

/** Of a look that failed because the provider is down, its status says nothing about the plan. */
function notSent({ code, unseen, status = null }: Extract<Lookup<unknown>, { unseen: string }>): Rejection {
  const isRefusal = status !== null && status >= 400 && status < 500;
  return {
    kind: 'rejected',
    code,
    message: unseen,
    retryable: !isRefusal || status === 429,
    status: isRefusal ? status : null,
  };
}
