import { expect, it } from 'vitest';
import { endedTogether } from './work.js';

/** A part of a worker that ends when the test says so. */
class Part {
  end!: () => void;
  fail!: (error: Error) => void;
  stop!: () => Promise<void>;
  readonly ended = new Promise<void>((resolve, reject) => {
    this.end = resolve;
    this.fail = reject;
  });
  readonly stopped = new Promise<void>((resolve) => {
    this.stop = async () => resolve();
  });
}

it('when one part of a worker fails, the other stops, and may finish its calls before the worker ends', async () => {
  const [payments, events] = [new Part(), new Part()];
  let isEnded = false;
  const together = endedTogether(payments, events).finally(() => (isEnded = true));
  events.fail(new Error('no connection'));
  await payments.stopped;
  expect(isEnded).toBe(false);
  payments.end();
  await expect(together).rejects.toThrow('no connection');
});
