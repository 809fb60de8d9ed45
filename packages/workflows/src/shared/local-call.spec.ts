import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LocalCalls } from './local-call.js';

/**
 * What Temporal's library says of the workflow task in progress. A real server renews a task only after 8 s:
 * `test/local-calls.spec.ts` and the simulation wait for that.
 */
const task = { historyLength: 3, unsafe: { isReplaying: false } };
vi.mock('@temporalio/workflow', () => ({ workflowInfo: () => task }));
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
  Object.assign(task, { historyLength: 3, unsafe: { isReplaying: false } });
});
afterEach(() => {
  vi.useRealTimers();
});

const RENEWED = 'The workflow task was renewed during a local call, and is carried out again';

/** A call during which Temporal renews the task. */
const renewedBy =
  <T>(end: () => T) =>
  async (): Promise<T> => {
    await Promise.resolve();
    task.historyLength += 3;
    return end();
  };
const fails = (): never => {
  throw new Error('no answer');
};

describe('a local call', () => {
  it.each([
    ['that answers', renewedBy(() => 'seen')],
    ['that fails', renewedBy(fails)],
  ])('a local call %s after its task was renewed fails the task', async (_, call) => {
    await expect(new LocalCalls().make(call)).rejects.toThrow(RENEWED);
  });

  it('a local call within one task gives its result, or its failure', async () => {
    const calls = new LocalCalls();
    await expect(calls.make(() => Promise.resolve('seen'))).resolves.toBe('seen');
    await expect(calls.make(async () => fails())).rejects.toThrow('no answer');
  });

  it('a local call that a replay repeats gives its result, although the history is longer by then', async () => {
    task.unsafe.isReplaying = true;
    await expect(new LocalCalls().make(renewedBy(() => 'seen'))).resolves.toBe('seen');
  });

  it('a local call that began in a replay fails its task when it ends at a later time than a message came', async () => {
    vi.setSystemTime(1_000);
    task.unsafe.isReplaying = true;
    const calls = new LocalCalls();
    const call = async (): Promise<string> => {
      task.unsafe.isReplaying = false;
      calls.readsClock();
      await Promise.resolve();
      vi.setSystemTime(1_001);
      return 'seen';
    };
    await expect(calls.make(call)).rejects.toThrow(RENEWED);
  });

  it('a local call that began in a replay gives its result when a message came at the same time, or none came', async () => {
    const calls = new LocalCalls();
    const callAt = (readAt: number | null) => async (): Promise<string> => {
      task.unsafe.isReplaying = false;
      if (readAt !== null) calls.readsClock();
      await Promise.resolve();
      vi.setSystemTime(readAt ?? 2_000);
      return 'seen';
    };
    for (const readAt of [1_000, null]) {
      vi.setSystemTime(1_000);
      task.unsafe.isReplaying = true;
      await expect(calls.make(callAt(readAt))).resolves.toBe('seen');
    }
  });
});
