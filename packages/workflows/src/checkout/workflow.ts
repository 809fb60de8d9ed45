import { allHandlersFinished, CancellationScope, makeContinueAsNewFunc, workflowInfo } from '@temporalio/workflow';
import { clock } from '../shared/clock.js';
import { TEMPORAL_CANCEL } from '../shared/requester.js';
import { executeStep } from './execute-step.js';
import { handleMessages, isHistoryLong } from './handlers.js';
import { AFTERCARE_WORKFLOW, type AftercareInput, type CheckoutInput } from './messages.js';
import { CheckoutModel } from './model/checkout-model.js';
import { restore } from './model/snapshot.js';
import { DEFAULT_POLICY } from './policy.js';
import { providerCalls } from './provider-calls.js';
import { memoOf, publish, searchAttributesOf } from './publish.js';
import type { CheckoutMemo, CheckoutResult } from './types.js';

/** How a run continues as new. */
type Continuations = {
  /** Its history is long. */
  readonly asTheSame: () => Promise<never>;
  /** It is paid, and continues as aftercare. Null in aftercare itself. */
  readonly asAftercare: (() => Promise<never>) | null;
};

/**
 * One reference, from its first QR until it is paid, or until no payment can come any more.
 * Source: API reference, "Merchant-presented QR payment".
 */
export function checkout(input: CheckoutInput): Promise<CheckoutResult> {
  const { intent, resume, policy = {} } = input;
  const model =
    resume === undefined
      ? CheckoutModel.open(intent, { ...DEFAULT_POLICY, ...policy }, clock(), input)
      : CheckoutModel.resume(intent, { ...DEFAULT_POLICY, ...policy }, resume);

  return run(model, {
    asTheSame: () =>
      makeContinueAsNewFunc<typeof checkout>({ memo: memoOf(model, clock()) })({ ...input, resume: model.state }),
    asAftercare: () =>
      makeContinueAsNewFunc<typeof aftercare>({
        workflowType: AFTERCARE_WORKFLOW,
        memo: memoOf(model, clock()),
        typedSearchAttributes: searchAttributesOf(model, clock()),
      })({ state: model.snapshot, ...(input.policy === undefined ? {} : { policy }) }),
  });
}

/**
 * A paid checkout: its void window, its refund window, its refunds, and payments that come late or twice. It closes when
 * nothing can be refunded any more. Source: API reference, "Merchant-presented QR payment", void and refund rules.
 */
export function aftercare(input: AftercareInput): Promise<CheckoutResult> {
  const { intent, timeline = [] } = workflowInfo().memo as CheckoutMemo;
  const state = restore(input.state, [...timeline]);
  const model = CheckoutModel.resume(intent, { ...DEFAULT_POLICY, ...input.policy }, state);

  return run(model, {
    asTheSame: () =>
      makeContinueAsNewFunc<typeof aftercare>({ memo: memoOf(model, clock()) })({ ...input, state: model.snapshot }),
    asAftercare: null,
  });
}

/** Both workflow types are this loop, so whichever runs answers every message. */
function run(model: CheckoutModel, continueAsNew: Continuations): Promise<CheckoutResult> {
  const messages = handleMessages(model);
  // A payment may be in flight: a cancellation in the Temporal UI requests the same orderly end as the update `cancel`.
  CancellationScope.current().cancelRequested.catch(() =>
    messages.apply(() => model.requestCancel(clock(), { by: TEMPORAL_CANCEL })),
  );
  return CancellationScope.nonCancellable(async () => {
    for (;;) {
      messages.read();
      model.advanceTo(clock());
      if (model.isPaid && continueAsNew.asAftercare !== null && allHandlersFinished())
        await continueAsNew.asAftercare();
      publish(model, clock());
      messages.published();
      // No handler waits and the model contains every request, so continue-as-new loses none.
      if (isHistoryLong(model) && allHandlersFinished()) await continueAsNew.asTheSame();
      const step = model.nextStep(clock());
      if (step.do === 'close') {
        if (await messages.newBeforeAllAreAnswered()) continue;
        return model.result(clock());
      }
      if (step.do === 'wait') {
        await messages.newOrUntil(step, { orPaid: continueAsNew.asAftercare !== null });
      } else {
        await executeStep(model, step, providerCalls, clock);
        messages.changed();
      }
    }
  });
}
