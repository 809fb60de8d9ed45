import type { Sinks } from '@temporalio/workflow';

/** What a workflow did because of one message: from the message until no call of the workflow was under way. */
export type WorkflowSpan = {
  /** As Temporal's own packages name it: `RunWorkflow:checkout`, `HandleSignal:hint`, `HandleUpdate:refund`. */
  readonly name: string;
  /** The `traceparent` of the message's sender. */
  readonly parent: string;
  /** The workflow's calls name this id as their parent. */
  readonly spanId: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** The `traceparent` of the span in which this run started, for messages that come later. */
  readonly link?: string;
};

/** How a workflow hands its finished spans to its worker. */
export interface TraceSinks extends Sinks {
  readonly traces: { ended(span: WorkflowSpan): void };
}

/** 64-bit FNV-1a would need BigInt for each character. Two halves with different seeds are as good here. */
const SEEDS = [0x81_1c_9d_c5, 0x2f_6b_8e_13];
const PRIME = 0x01_00_01_93;
const HEX_HALF = 8;
const HEX = 16;

/**
 * The id of the span that a message causes. It follows from the sender's span, so that every replay and every worker
 * finds the same id, and a workflow draws no random number for it: that would change the ids which the workflow draws
 * itself.
 * @param parent 16 hexadecimal digits @param text distinguishes spans with the same parent
 */
export function spanIdOf(parent: string, text: string): string {
  return SEEDS.map((seed, half) => {
    let hash = seed;
    for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), PRIME);
    const sender = Number.parseInt(parent.slice(half * HEX_HALF, (half + 1) * HEX_HALF), HEX);
    return ((hash ^ sender) >>> 0).toString(HEX).padStart(HEX_HALF, '0');
  }).join('');
}
