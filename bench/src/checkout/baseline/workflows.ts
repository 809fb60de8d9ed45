import { searchAttributes } from '@tillflow/workflows';
import {
  allHandlersFinished,
  condition,
  defineSignal,
  defineUpdate,
  makeContinueAsNewFunc,
  proxyActivities,
  setHandler,
  sleep,
  upsertMemo,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { filler, padded, type BaselineActivities, type NothingCall, type Shape, type Step } from './steps.js';

export const begin = defineUpdate<string>('begin');
export const hint = defineSignal<[string]>('hint');

const { nothing } = proxyActivities<BaselineActivities>({
  scheduleToCloseTimeout: '20 seconds',
  heartbeatTimeout: '6 seconds',
  retry: { maximumAttempts: 1 },
});

const SUMMARY = 'As long as a usual summary text';

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

/** Produces the events of a paid checkout, in the same order and with the same sizes, without any logic. */
export async function bare(shape: Shape): Promise<void> {
  let answered = false;
  let hinted = false;
  setHandler(begin, async () => {
    await condition(() => answered);
    return 'awaiting_payment';
  });
  setHandler(hint, () => {
    hinted = true;
  });
  const { runs, waitMs } = shape;
  const [steps = [], ...rest] = runs;
  for (const step of steps) {
    switch (step[0]) {
      case 'answer':
        answered = true;
        break;
      case 'wait':
        await condition(() => hinted, '25 seconds', { summary: SUMMARY });
        break;
      case 'continue':
        await condition(allHandlersFinished);
        await continueWith(padded({ runs: rest, waitMs }, step[1]));
        break;
      default:
        await carryOut(step, waitMs);
    }
  }
  await condition(allHandlersFinished);
}

async function carryOut(step: Exclude<Step, readonly ['answer' | 'wait' | 'continue', ...unknown[]]>, waitMs: number) {
  switch (step[0]) {
    case 'call': {
      const [, inputBytes, resultBytes] = step;
      await nothing.executeWithOptions(
        {
          scheduleToCloseTimeout: '20 seconds',
          heartbeatTimeout: '6 seconds',
          retry: { maximumAttempts: 1 },
          summary: SUMMARY,
        },
        [{ padding: filler(inputBytes - CALL_BYTES), waitMs, resultBytes }],
      );
      break;
    }
    case 'memo':
      upsertMemo({ state: filler(step[1]) });
      break;
    case 'attributes':
      upsertSearchAttributes([
        { key: searchAttributes.status, value: 'paid' },
        { key: searchAttributes.chargeId, value: ['chrg_test_0123456789abcdefghi'] },
        { key: searchAttributes.paidAt, value: new Date() },
      ]);
      break;
    case 'sleep':
      await sleep('300 days', { summary: SUMMARY });
      break;
  }
}

/** Bytes of a call without its padding. */
const CALL_BYTES = 45;

/** As in the product: without `memo`, the new run would get the memo of the first start. */
async function continueWith(shape: Shape): Promise<never> {
  return makeContinueAsNewFunc<typeof bare>({ memo: { ...workflowInfo().memo } })(shape);
}
