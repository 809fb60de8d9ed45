import type { Instant } from '@tillflow/domain';

/** What a checkout does next. The model decides; the workflow carries it out and applies the outcome to the model. */
export type Step =
  | { readonly do: 'createSource' }
  | { readonly do: 'createCharge'; readonly attempt: number; readonly sourceId: string }
  /** Searches the provider for charges of this checkout, created from `since` to `until`. */
  | {
      readonly do: 'findCharges';
      readonly sourceId: string | null;
      readonly since: Instant;
      readonly until: Instant;
      readonly why: 'unknown' | 'late effect';
    }
  | { readonly do: 'expireCharge'; readonly chargeId: string }
  | { readonly do: 'retrieveCharge'; readonly chargeId: string }
  | {
      readonly do: 'createRefund';
      readonly key: string;
      readonly chargeId: string;
      /** Smallest currency unit. */
      readonly amount: number;
      readonly asVoid: boolean;
    }
  /** Nothing is due before `until`. `why` tells people what can happen until then, or which step follows. */
  | { readonly do: 'wait'; readonly until: Instant; readonly why: string }
  /** Nothing will be due again. */
  | { readonly do: 'close' };

/** Something that is due at a time. Without a step, the workflow only wakes up to see that the time has passed. */
export type Due = { readonly at: Instant; readonly step?: Step; readonly why: string };

/** The first step that is due, or how long none is. */
export function nextStepOf(steps: readonly Due[], deadlines: readonly Due[], now: Instant): Step {
  const due = steps.find(({ at, step }) => step !== undefined && at <= now);
  if (due?.step !== undefined) return due.step;
  const later = [...steps, ...deadlines].filter(({ at }) => at > now);
  const first = later.reduce<Due | null>((least, one) => (least === null || one.at < least.at ? one : least), null);
  return first === null ? { do: 'close' } : { do: 'wait', until: first.at, why: first.why };
}
