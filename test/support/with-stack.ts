import { Stack, type StackOptions } from './stack.js';
import { WorkerProcess, type SignalAt } from './worker-process.js';

export type StartWorker = (signalAt?: SignalAt) => Promise<WorkerProcess>;

/** A stack without a worker, for one test: its workers are processes, which it hands out and ends. */
export async function withStack(
  options: StackOptions,
  run: (stack: Stack, start: StartWorker) => Promise<void>,
): Promise<void> {
  const stack = await Stack.start({ worker: false, ...options });
  const workers: WorkerProcess[] = [];
  try {
    await run(stack, async (signalAt) => {
      const worker = await WorkerProcess.start(stack.workerEnvironment(), signalAt);
      workers.push(worker);
      return worker;
    });
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    await stack.stop();
  }
}
