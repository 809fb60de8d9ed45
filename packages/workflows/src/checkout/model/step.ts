import type { Instant } from '@tillflow/domain';

/** What a checkout does next. The book decides; the workflow carries it out and tells the book what came of it. */
export type Step =
  | { readonly do: 'createSource' }
  | { readonly do: 'createCharge'; readonly attempt: number; readonly sourceId: string }
  /** Looks for charges of ours that we may not know of. Times are in milliseconds. */
  | {
      readonly do: 'findCharges';
      readonly sourceId: string | null;
      readonly since: Instant;
      readonly until: Instant;
      readonly why: 'unknown' | 'late effect';
    }
  | { readonly do: 'expireCharge'; readonly chargeId: string }
  | { readonly do: 'look'; readonly chargeId: string }
  | {
      readonly do: 'createRefund';
      readonly key: string;
      readonly chargeId: string;
      /** Smallest currency unit. */
      readonly amount: number;
      readonly asVoid: boolean;
    }
  /** Nothing is due before `until`. */
  | { readonly do: 'wait'; readonly until: Instant; readonly why: string }
  /** Nothing will ever be due again. */
  | { readonly do: 'close' };
