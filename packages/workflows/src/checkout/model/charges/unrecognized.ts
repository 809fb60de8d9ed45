import { instant, plus, type Instant } from '@tillflow/domain';
import { isDisbelieved, saysItDoesNotExist, type NotShown } from '../../../shared/lookup.js';
import { lookupDelay } from '../../../shared/policy.js';
import type { ModelContext } from '../context.js';
import type { Due } from '../schedule.js';

/** The model keeps at most this many charges that hints or operators named. */
const MAX_UNRECOGNIZED = 5;
/** A charge that the provider does not show is forgotten after this many retrieves. */
const MAX_TRIES = 4;
/** Delays between retrieves stop growing at this index of the lookup delays: 1 h by default. */
const SLOWEST_RETRIEVE = 4;

/** A charge that a hint or an operator named, before a retrieve shows whether it belongs to the checkout. */
export type UnrecognizedCharge = {
  id: string;
  retrieveAt: number;
  tries: number;
  /** Another hint named it, perhaps during its retrieve. */
  isNamedAgain?: true;
};

export class UnrecognizedCharges {
  constructor(
    private readonly context: ModelContext,
    private readonly charges: UnrecognizedCharge[],
  ) {}

  due(): Due[] {
    return this.charges.map(({ id, retrieveAt }) => ({
      at: instant(retrieveAt),
      step: { do: 'retrieveCharge', chargeId: id },
      why: 'then retrieve a charge that a hint named',
    }));
  }

  add(now: Instant, id: string): void {
    const known = this.charges.find((charge) => charge.id === id);
    if (known !== undefined) known.isNamedAgain = true;
    else if (this.charges.length < MAX_UNRECOGNIZED) this.charges.push({ id, retrieveAt: now, tries: 0 });
  }

  /** An operator names a charge: it comes first, and the last of the others gives way. */
  addFirst(now: Instant, id: string): void {
    this.remove(id);
    this.charges.unshift({ id, retrieveAt: now, tries: 0 });
    this.charges.splice(MAX_UNRECOGNIZED);
  }

  remove(id: string): UnrecognizedCharge | undefined {
    const index = this.charges.findIndex((charge) => charge.id === id);
    return index === -1 ? undefined : this.charges.splice(index, 1)[0];
  }

  /**
   * The retrieves end only when the provider answers that the charge does not exist, or answers with another charge. An
   * outage does not end them.
   */
  miss(now: Instant, id: string, why: NotShown): void {
    const { policy, timeline } = this.context;
    const charge = this.charges.find((one) => one.id === id);
    if (charge === undefined) return;
    charge.tries += 1;
    charge.retrieveAt = plus(now, lookupDelay(policy, Math.min(charge.tries, SLOWEST_RETRIEVE)));
    if (!(saysItDoesNotExist(why) || isDisbelieved(why)) || charge.tries < MAX_TRIES) return;
    this.remove(id);
    timeline.note(now, 'charge_not_shown', `${id}: ${why.code}`);
  }
}
