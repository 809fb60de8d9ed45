import { setTimeout as sleep } from 'node:timers/promises';
import { filler } from './steps.js';

export type NothingCall = {
  /** Makes the call as large as the product's. */
  readonly padding: string;
  /** How long the provider would take, in ms. */
  readonly waitMs: number;
  readonly resultBytes: number;
};

/** Answers with as many bytes as are asked for, after as long as is asked for. */
async function nothing({ waitMs, resultBytes }: NothingCall): Promise<string> {
  if (waitMs > 0) await sleep(waitMs);
  return filler(resultBytes);
}

export const floorActivities = { nothing };
export type FloorActivities = typeof floorActivities;
