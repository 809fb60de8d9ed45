import { makeContinueAsNewFunc, workflowInfo } from '@temporalio/workflow';
import { CheckoutModel } from './model/checkout-model.js';
import { DEFAULT_POLICY, type CheckoutPolicy } from '../shared/policy.js';
import { restore, type Snapshot } from './model/snapshot.js';
import { clock } from '../shared/clock.js';
import { keep } from './handlers.js';
import { tell } from './publish.js';
import type { CheckoutMemo, CheckoutResult } from './types.js';

/** Intent and timeline are in the memo already: the start of a run that stays open for a year is acceptedCharge small. */
export type AftercareInput = {
  readonly state: Snapshot;
  /** What differs from {@link DEFAULT_POLICY}. */
  readonly policy?: Partial<CheckoutPolicy>;
};

/**
 * A paid checkout: its void window, its refund window, its refunds, and money that comes late or twice. Closes when
 * nothing can be refunded any more. Source: API reference, "Merchant-presented QR payment", void and refund rules.
 */
export function aftercare(input: AftercareInput): Promise<CheckoutResult> {
  const { intent, timeline = [] } = workflowInfo().memo as CheckoutMemo;
  const policy = { ...DEFAULT_POLICY, ...input.policy };
  const model = CheckoutModel.resume(intent, policy, restore(input.state, [...timeline]));

  return keep(model, {
    asTheSame: () => {
      const memo = tell(model, clock());
      return makeContinueAsNewFunc<typeof aftercare>({ memo })({ ...input, state: model.snapshot });
    },
    asPaid: null,
  });
}
