/** A process that runs batches of lives, one after another. `simulate` starts it. */
import './virtual/install.js';

import type { BatchRequest, BatchReply } from './simulate.js';

const { runBatch } = await import('./batch.js');

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? String(error.stack) : `${error.message}: ${messageOf(error.cause)}`;
}

async function answer({ seed, batch, ...options }: BatchRequest): Promise<BatchReply> {
  try {
    return { result: await runBatch(seed, batch, options) };
  } catch (error) {
    return { error: messageOf(error) };
  }
}

process.on('message', (request: BatchRequest) => {
  void answer(request).then((reply) => process.send?.(reply));
});
process.on('disconnect', () => process.exit());
