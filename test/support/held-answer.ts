import { startWorker, workerSettings } from '@tillflow/worker';
import { CutLine } from '@tillflow/tools';
import type { Stack } from './stack.js';

type HeldAnswer = {
  /** Resolves when the provider has the request. */
  readonly arrived: Promise<void>;
  /** Lets the answer through. */
  release(): void;
};

/**
 * Runs a worker that does not see the provider's answer to the next request of this kind until `release`. The stack has
 * no other worker, and its calls have a long deadline.
 */
export async function withHeldAnswer(
  stack: Stack,
  request: { readonly method: string; readonly route: string },
  work: (held: HeldAnswer) => Promise<void>,
): Promise<void> {
  const line = await CutLine.to(new URL(stack.sandboxUrl).host);
  const environment = { ...stack.workerEnvironment(), PROVIDER_BASE_URL: `http://${line.address}` };
  const worker = await startWorker(workerSettings(environment), stack.logger);
  const arrived = new Promise<void>((resolve) => {
    const off = stack.sandbox.on('request', ({ method, route }) => {
      if (method !== request.method || route !== request.route) return;
      off();
      line.mute();
      resolve();
    });
  });
  try {
    await work({ arrived, release: () => line.mend() });
  } finally {
    line.mend();
    await worker.stop();
    line.close();
  }
}
