import type { CheckoutStatus } from '@tillflow/domain';
import type { TimelineEntry } from '../types.js';
import type { AttemptsState } from './attempts.js';
import type { RaisedAttention } from './attention.js';
import type { ChargesState } from './charges/charges.js';
import type { CreationState } from './charges/creation.js';
import type { UnrecognizedCharge } from './charges/unrecognized.js';
import type { RefundingState } from './refunds/refunding.js';
import type { RefundEntry } from './refunds/refunds.js';

/**
 * Everything that a checkout knows, as plain JSON: it survives continue-as-new. Each slice is declared beside the part
 * of the model that alone writes it. Instants are in milliseconds since 1970 (UTC).
 */
export type ModelState = {
  attempts: AttemptsState;
  creation: CreationState;
  charges: ChargesState;
  unrecognized: UnrecognizedCharge[];
  refunds: RefundEntry[];
  refunding: RefundingState;
  attentions: RaisedAttention[];
  timeline: TimelineEntry[];
  /** What the memo says, and how often it was written. */
  published: { status: CheckoutStatus; version: number };
  /** Since when the provider has not answered; null while it answers. */
  silentSince: number | null;
  /** When every charge was seen final; null while a charge is open or can still be created. */
  endedAt: number | null;
};

export const emptyState = (): ModelState => ({
  attempts: { list: [], replaced: null, cancelRequested: false, isReopened: false },
  creation: { inProgress: null, lateEffectCheck: null },
  charges: { all: [], accepted: null, lateAfter: null, isClosing: false },
  unrecognized: [],
  refunds: [],
  refunding: { inProgress: null, adopting: null },
  attentions: [],
  timeline: [],
  published: { status: 'creating', version: 0 },
  silentSince: null,
  endedAt: null,
});
