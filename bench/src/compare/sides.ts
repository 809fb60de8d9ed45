import { openCheckout, payCheckout, checkoutVariant, type OpenedCheckout, type Variant } from '../checkout/variants.js';
import { Till } from '../checkout/till.js';
import { Stack } from '../stack.js';
import type { Halves } from './slow-customers.js';

export const SIDES = ['this tree', 'reference'] as const;
export type SideName = (typeof SIDES)[number];

/** One built tree with its own server, worker, API and sandbox, and a till of this tree. */
export type Side = {
  readonly name: SideName;
  readonly stack: Stack;
  readonly till: Till;
  readonly variant: Variant;
};

const DAY_MS = 86_400_000;
/** 16:15 UTC, the void cut-off. Source: API reference, "Limits". */
const CUT_OFF_MS = (16 * 60 + 15) * 60_000;
const TEN_HOURS_MS = 36_000_000;
const EASTERNMOST_MINUTES = 840;

/** @param trees the directory of each side's built tree. */
export async function startSides(trees: Readonly<Record<SideName, string>>): Promise<Side[]> {
  const sides: Side[] = [];
  const env = { VOID_DATE_OFFSET_MINUTES: String(offsetFor(Date.now())) };
  for (const name of SIDES) {
    const stack = await Stack.start({ tree: trees[name], env });
    const till = new Till(stack.apiUrl);
    sides.push({ name, stack, till, variant: { ...checkoutVariant(stack, till), programs: stack } });
  }
  return sides;
}

export async function stopSides(sides: readonly Side[]): Promise<void> {
  for (const { stack, till } of sides) {
    await till.close();
    await stack.stop();
  }
}

/**
 * The minutes east of UTC with which every payment of the next hours has its void cut-off ahead, at whatever time of
 * the day a run begins: from ten o'clock, it is already tomorrow at 840 minutes.
 */
export function offsetFor(now: number): number {
  return now % DAY_MS < TEN_HOURS_MS ? 0 : EASTERNMOST_MINUTES;
}

/** The cut-off that is ahead of every payment of a run that began at `began`. */
export function cutOffOf(began: number): number {
  const today = began - (began % DAY_MS);
  return today + CUT_OFF_MS + (offsetFor(began) === 0 ? 0 : DAY_MS);
}

export function halvesOf({ stack, till }: Side, callers: number): Halves<OpenedCheckout> {
  return {
    open: () => openCheckout(till, callers),
    pay: ({ checkout }) => payCheckout(stack, till, checkout, callers),
  };
}
