import { searchAttributes } from '@tillflow/workflows';
import {
  allHandlersFinished,
  condition,
  defineSignal,
  defineUpdate,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
  sleep,
  upsertMemo,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import { BYTES, filler, type BareInput, type BaselineActivities, type NothingCall } from './steps.js';

export const begin = defineUpdate<string>('begin');
export const hint = defineSignal<[string]>('hint');

const { nothing } = proxyActivities<BaselineActivities>({
  scheduleToCloseTimeout: '20 seconds',
  heartbeatTimeout: '6 seconds',
  retry: { maximumAttempts: 1 },
});
const local = proxyLocalActivities<BaselineActivities>({
  scheduleToCloseTimeout: '5 seconds',
  retry: { maximumAttempts: 1 },
});

/** As long as the summary of a wait. */
const SUMMARY = 'Until 2026-11-22T21:05:32.015Z: wait for a webhook, then retrieve the charge';
/** Bytes of a call without its padding. */
const CALL_BYTES = 45;

/** The smallest workflow that can return a QR code: an update with the start, which waits for two activities. */
export async function twoActivities(): Promise<void> {
  let answered = false;
  setHandler(begin, async () => {
    await condition(() => answered);
    return 'awaiting_payment';
  });
  const call: NothingCall = { padding: '', waitMs: 0, resultBytes: 0 };
  await nothing(call);
  await nothing(call);
  answered = true;
  await condition(allHandlersFinished);
}

/**
 * The 24 events of a paid checkout, without any logic: source and lookup as local activities, the charge as a regular
 * one, and no continue-as-new at the payment. Written by hand. It stays as it is when the product changes, so that the
 * product is compared with the same thing after each change.
 */
export async function bare({ waitMs }: BareInput): Promise<void> {
  let answered = false;
  let hinted = false;
  setHandler(begin, async () => {
    await condition(() => answered);
    return 'awaiting_payment';
  });
  setHandler(hint, () => {
    hinted = true;
  });
  await local.nothing({ padding: '', waitMs, resultBytes: BYTES.source });
  await nothing({ padding: filler(BYTES.chargeCall - CALL_BYTES), waitMs, resultBytes: BYTES.charge });
  answered = true;
  upsertMemo({ state: filler(BYTES.awaitingMemo) });
  await condition(() => hinted, '25 seconds', { summary: SUMMARY });
  await local.nothing({ padding: '', waitMs, resultBytes: BYTES.retrieved });
  upsertMemo({ state: filler(BYTES.paidMemo) });
  upsertSearchAttributes([
    { key: searchAttributes.status, value: 'paid' },
    { key: searchAttributes.chargeId, value: ['chrg_test_0123456789abcdefghi'] },
    { key: searchAttributes.paidAt, value: new Date() },
  ]);
  await sleep('1 day', { summary: SUMMARY });
}
