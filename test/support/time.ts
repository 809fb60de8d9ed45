import * as tools from '@tillflow/tools';
import type { Stack } from './stack.js';

/** Moves one running workflow ahead in time. Its timers on the way fire; the provider's clock goes along. */
export async function fastForward(stack: Stack, reference: string, milliseconds: number): Promise<void> {
  stack.sandbox.advance(milliseconds / 1_000);
  await tools.fastForward(stack.temporal, `checkout/default/${reference}`, milliseconds);
}
