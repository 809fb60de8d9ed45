import type { Hint } from '@tillflow/workflows';
import type { CheckoutJson, Stack } from './stack.js';

export type StoredHint = Hint & { readonly as: 'signal' | 'update' };

/** The hints in the history of a checkout, which is not encrypted. */
export async function hintsOf(stack: Stack, { reference }: Pick<CheckoutJson, 'reference'>): Promise<StoredHint[]> {
  const runs = await stack.runsOf(reference);
  return runs.flat().flatMap((event) => {
    const signal = event.workflowExecutionSignaledEventAttributes;
    const update = event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest?.input;
    const as = signal?.signalName === 'hint' ? 'signal' : update?.name === 'hintNow' ? 'update' : null;
    const [payload] = (signal?.input ?? update?.args)?.payloads ?? [];
    if (as === null) return [];
    return [{ ...(JSON.parse(Buffer.from(payload?.data ?? []).toString()) as Hint), as }];
  });
}
