import { formatInstant, type Instant } from '@tillflow/domain';
import { sleep } from '@temporalio/workflow';
import type { Seen } from '../book/book.js';
import { sendWindow, type CheckoutPolicy } from '../book/policy.js';
import type { Resolving } from '../book/record.js';
import { doubt, lookLater, provesAbsence, startResolving } from '../book/resolving.js';
import { clock } from '../clock.js';
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

/**
 * Makes a recurring plan once, however often its answer is lost. The provider knows no idempotency for it, and a
 * second plan would move money twice: an unknown outcome is looked for, and the create made again only after two looks
 * found nothing, the second when nothing of the first call could be under way any more.
 */
export class Planning {
  readonly #since: Instant = clock();
  readonly #resolving: Resolving = startResolving(this.#since);
  /** Plans that were there before: none of them is what this command makes, however much it looks like it. */
  #before: readonly string[] = [];

  constructor(
    private readonly command: CreatePlan,
    private readonly policy: CheckoutPolicy,
  ) {}

  async make(): Promise<CommandOutcome | Undecided> {
    const before = await this.#find();
    if ('unseen' in before) return notSent(before);
    this.#before = before.seen.map(({ id }) => id ?? '');
    for (let creates = 1; ; creates += 1) {
      const { quietAt, sendBy, deadlineMs } = sendWindow(this.policy, clock());
      const outcome = await calls.createPlan({ sealed: this.command.sealed, sendBy, deadlineMs });
      if (outcome.kind === 'done') return creates === 1 ? outcome : this.#aloneAfterRepeat(outcome);
      // Provably without effect, and nothing before it can have had one.
      if (outcome.kind === 'rejected' && !this.#resolving.doubted) return outcome;

      doubt(this.policy, this.#resolving, clock(), outcome, quietAt);
      const found = await this.#lookUntilKnown();
      if (found === null) return undecided('unresolved', 'Nobody could find out whether the plan was made', []);
      if (found.length > 0) return this.#oneOf(found);
      if (outcome.kind === 'rejected' && !outcome.retryable) return outcome;
      if (creates >= MAX_CREATES) return notCreated(outcome.message);
    }
  }

  /** @returns what may be the plan; nothing when it is proved that there is none; null when nobody can tell. */
  async #lookUntilKnown(): Promise<readonly FoundPlan[] | null> {
    const { policy } = this;
    const resolving = this.#resolving;
    for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
      await sleep(Math.max(resolving.dueAt - clock(), 1), { summary: 'Until the next look for the plan' });
      const lookedAt = clock();
      const look = await this.#find();
      if ('seen' in look && look.seen.length > 0) return look.seen;
      if ('seen' in look && provesAbsence(resolving, lookedAt)) return [];
      lookLater(policy, resolving, clock());
    }
    return null;
  }

  /** A plan with our key is ours, and a second one with it is stopped. Of several without one nobody knows which it is. */
  async #oneOf(found: readonly FoundPlan[]): Promise<CommandOutcome | Undecided> {
    const ours = found.filter(({ isOurs }) => isOurs);
    const [kept, ...others] = ours.length > 0 ? ours : found;
    if (kept === undefined) return undecided('unresolved', 'There is no plan', []);
    if (!kept.fits) return undecided('mismatch', 'A plan has our key and is not as it was asked for', [idOf(kept)]);
    if (others.length === 0 || kept.isOurs) {
      await this.#stop(others);
      return { kind: 'done', value: { id: kept.id, reply: kept.reply } };
    }
    return undecided('ambiguous', 'Several plans are as it was asked for', found.map(idOf));
  }

  /** A first create may come through after it was proved absent and made again: a freeze at the worst moment. */
  async #aloneAfterRepeat(made: Extract<CommandOutcome, { kind: 'done' }>): Promise<CommandOutcome | Undecided> {
    const { id: madeId } = made.value;
    for (let looks = 0; looks < MAX_SECOND_LOOKS; looks += 1) {
      await sleep(this.policy.secondLookMs, { summary: 'Until the look for a first plan that came late' });
      const look = await this.#find();
      if ('unseen' in look) continue;
      const others = look.seen.filter(({ id }) => id !== madeId);
      await this.#stop(others.filter(({ isOurs }) => isOurs));
      const isKnown = look.seen.some(({ id, isOurs }) => id === madeId && isOurs);
      if (isKnown || others.length === 0) return made;
      return undecided('ambiguous', 'Several plans are as it was asked for', look.seen.map(idOf));
    }
    return made;
  }

  async #stop(plans: readonly FoundPlan[]): Promise<void> {
    for (const { id } of plans) {
      if (id !== null) await makeChange({ kind: 'stop_plan', plan: id }, this.policy);
    }
  }

  #find(): Promise<Seen<readonly FoundPlan[]>> {
    return calls.findPlans({
      sealed: this.command.sealed,
      since: formatInstant(this.#since),
      except: this.#before,
    });
  }
}

function idOf({ id }: Done): string {
  return id ?? '';
}

function undecided(code: Undecided['code'], message: string, candidates: readonly string[]): Undecided {
  return { kind: 'undecided', code, message, candidates };
}

function notSent({ code, unseen }: { readonly code: string; readonly unseen: string }): Rejection {
  return { kind: 'rejected', code, message: unseen, retryable: true, status: null };
}

function notCreated(message: string): Rejection {
  return { kind: 'rejected', code: 'not_created', message, retryable: true, status: null };
}
