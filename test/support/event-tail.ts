import { findEventTail, type EventTailInput, type EventTailMemo } from '@tillflow/workflows';
import { nameOnQueue } from '@tillflow/temporal';
import { eventually } from './eventually.js';
import type { Stack } from './stack.js';

/** Settings of a worker with such short pauses between passes that a test need not wait long. */
export const QUICK_TAIL = { EVENT_TAIL_INTERVAL_MS: '200' } as const;

/** A tail that read nothing yet, and continues as new every few passes. */
export const SHORT_LIVED: EventTailInput = {
  maxHistoryEvents: 60,
  state: {
    watermark: '2000-01-01T00:00:00.000Z',
    intervalMs: 200,
    unplaced: [],
    notices: [],
    dismissed: [],
    failing: null,
  },
};

/** The event tail of a stack, started without its Schedule. */
export class TailRun {
  private constructor(
    private readonly stack: Stack,
    readonly workflowId: string,
  ) {}

  static async start(stack: Stack, input?: EventTailInput): Promise<TailRun> {
    const workflowId = nameOnQueue('event-tail', stack.taskQueue);
    await stack.temporal.client.workflow.start('eventTail', {
      workflowId,
      taskQueue: stack.taskQueue,
      args: input === undefined ? [] : [input],
    });
    return new TailRun(stack, workflowId);
  }

  get handle() {
    return this.stack.temporal.client.workflow.getHandle(this.workflowId);
  }

  async memo(): Promise<EventTailMemo> {
    // Written by this product alone.
    const memo: EventTailMemo = (await this.handle.describe()).memo ?? {};
    return memo;
  }

  /** Waits for a pass that began after now, and read all there was. */
  async nextPass(): Promise<void> {
    const now = new Date().toISOString();
    await eventually(async () => {
      const { pass } = await this.memo();
      if (pass === undefined || pass.at < now) throw new Error(`Not yet: ${JSON.stringify(pass)}`);
    });
  }

  async stop(): Promise<void> {
    await this.handle.terminate('the test is over');
  }
}

/** As an operator's program finds it. */
export function findTailOf({ temporal, taskQueue }: Stack) {
  return findEventTail(temporal.client.workflow, taskQueue);
}
