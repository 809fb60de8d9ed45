import { allHandlersFinished, CancellationScope, makeContinueAsNewFunc, workflowInfo } from '@temporalio/workflow';
import { clock } from '../shared/clock.js';
import { LocalCalls } from '../shared/local-call.js';
import { TEMPORAL_CANCEL } from '../shared/requester.js';
import { executeStep, type ProviderCalls } from './execute-step.js';
import { handleMessages, isHistoryLong } from './handlers.js';
import { AFTERCARE_WORKFLOW, type AftercareInput, type CheckoutInput } from './messages.js';
import { CheckoutModel } from './model/checkout-model.js';
import { restore } from './model/snapshot.js';
import { DEFAULT_POLICY } from './policy.js';
import { localCalls, regularCalls } from './provider-calls.js';
import { memoOf, publish, searchAttributesOf } from './publish.js';
import { hasLimits } from './refund-rights.js';
import type { CheckoutMemo, CheckoutResult } from './types.js';

/** How the two workflow types differ. */
type Kind = {
  /** How provider calls are made while a payment is awaited. */
  readonly calls: (localCall: LocalCalls) => ProviderCalls;
  /**
   * True when version 0.1 may have started the run. Such a run must issue the commands of that version: it waits with
   * `condition` instead of `sleep`, and drops a hint about a charge that it does not know yet.
   */
  readonly mayBeOld: boolean;
  /** Refunds have limits in this run from here on. */
  readonly hasLimits: () => boolean;
  /** Continues as new: when the history is long, and when {@link isDue}. */
  readonly continueAsNew: () => Promise<never>;
  /** Whether it is time to continue as new although the history is short. */
  readonly isDue: () => boolean;
};

/**
 * One reference, from its first QR until the night after its payment, or until no payment can come any more.
 * Source: API reference, "Merchant-presented QR payment".
 */
export function checkout(input: CheckoutInput): Promise<CheckoutResult> {
  const { resume, policy = {} } = input;
  const intent = input.intent ?? (workflowInfo().memo as CheckoutMemo).intent;
  const model =
    resume === undefined
      ? CheckoutModel.open(intent, { ...DEFAULT_POLICY, ...policy }, clock(), input)
      : CheckoutModel.resume(intent, { ...DEFAULT_POLICY, ...policy }, resume);

  return run(model, {
    calls: input.intent === undefined ? localCalls : () => regularCalls,
    mayBeOld: input.intent !== undefined,
    hasLimits: () => hasLimits(input),
    continueAsNew: () =>
      model.isPaid
        ? makeContinueAsNewFunc<typeof aftercare>({ ...nextRun(model), workflowType: AFTERCARE_WORKFLOW })({
            state: model.snapshot,
            ...(input.policy === undefined ? {} : { policy }),
            limits: true,
          })
        : makeContinueAsNewFunc<typeof checkout>(nextRun(model))({ ...input, resume: model.state, limits: true }),
    isDue: () => model.isReadyForAftercare(clock()),
  });
}

/**
 * A paid checkout from the night after its payment: its refunds, and payments that come late or twice. It closes within
 * a day after nothing can be refunded any more. Source: API reference, "Merchant-presented QR payment", void and refund
 * rules.
 */
export function aftercare(input: AftercareInput): Promise<CheckoutResult> {
  const memo = workflowInfo().memo as CheckoutMemo;
  const state = restore(input.state, memo);
  const model = CheckoutModel.aftercare(memo.intent, { ...DEFAULT_POLICY, ...input.policy }, state);

  return run(model, {
    calls: () => regularCalls,
    mayBeOld: true,
    hasLimits: () => hasLimits(input),
    continueAsNew: () =>
      makeContinueAsNewFunc<typeof aftercare>(nextRun(model))({ ...input, state: model.snapshot, limits: true }),
    isDue: () => false,
  });
}

/** The memo and the search attributes with which the next run starts. */
function nextRun(model: CheckoutModel) {
  const now = clock();
  return { memo: memoOf(model, now), typedSearchAttributes: searchAttributesOf(model, now) };
}

/** Both workflow types are this loop, so whichever runs answers every message. */
function run(
  model: CheckoutModel,
  { calls: callsWith, mayBeOld, hasLimits: areRefundsLimited, continueAsNew, isDue }: Kind,
): Promise<CheckoutResult> {
  const inTurn = new LocalCalls();
  const calls = callsWith(inTurn);
  const messages = handleMessages(model, areRefundsLimited, inTurn, mayBeOld);
  // A payment may be in flight: a cancellation in the Temporal UI requests the same orderly end as the update `cancel`.
  CancellationScope.current().cancelRequested.catch(() =>
    messages.apply(() => model.requestCancel(clock(), { by: TEMPORAL_CANCEL })),
  );
  return CancellationScope.nonCancellable(async () => {
    for (;;) {
      messages.read();
      model.advanceTo(clock());
      publish(model, clock());
      messages.published();
      // No handler waits and the model contains every request, so continue-as-new loses none.
      if ((isHistoryLong(model) || isDue()) && allHandlersFinished()) await continueAsNew();
      const step = model.nextStep(clock());
      if (step.do === 'close') {
        if (await messages.newBeforeAllAreAnswered()) continue;
        return model.result(clock());
      }
      if (step.do === 'wait') {
        await messages.newOrUntil(step, isDue());
      } else {
        await executeStep(model, step, model.isAwaiting ? calls : regularCalls, clock);
        messages.changed();
      }
    }
  });
}
