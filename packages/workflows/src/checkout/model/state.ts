import type { ChargeStatus, CheckoutStatus } from '@tillflow/domain';
import type { Attention, TimelineEntry } from '../types.js';

/** Milliseconds since 1970-01-01T00:00:00Z. */
type Ms = number;

/** One offer to pay: a source, a charge, a QR. Numbered from 1; the last one is the current. */
export type Attempt = {
  number: number;
  sourceId: string | null;
  /** The charge that counts for it: its first, or the one that was paid. */
  chargeId: string | null;
  status: ChargeStatus;
  failureCode: string | null;
  failureMessage: string | null;
  createdAt: Ms;
  expiresAt: Ms;
  qr: { downloadUri: string; rawData: string | null } | null;
};

/** A call whose effect may be in doubt: when it may be made or looked for again, and what is known so far. */
export type PendingCall = {
  /** When the next call or look is due. */
  dueAt: Ms;
  tries: number;
  since: Ms;
  /** True once an outcome was unknown: from then on a refusal proves nothing by itself. */
  wasUnknown: boolean;
  /** Nothing of the last call can be under way after this. */
  inFlightUntil: Ms;
  /** Looks in a row that showed no effect. */
  absentLookups: number;
  /** What the provider refused with, before it was confirmed by a look. */
  refusal: { code: string; message: string } | null;
  /** The last call was not sent: the worker came to it too late. Absent where it was not, and in older records. */
  wasLate?: boolean;
  /** How often it was made again after it was proved to have had no effect. Absent until then. */
  repeats?: number;
};

/** How the current attempt comes to its charge. */
export type Opening = PendingCall & { stage: 'source' | 'charge' | 'unknown' };

export type Charge = {
  id: string;
  attempt: number;
  status: ChargeStatus;
  paidAt: Ms | null;
  /** The provider's `refunded_amount`, as last seen; smallest currency unit. */
  refunded: number;
  /** When the last look began. */
  retrievedAt: Ms;
  /** When a look is due beyond the polls: a hint, an expire call, a person. */
  retrieveAt: Ms | null;
  /** When it is looked at once more for a refund that came through after it was given up. */
  lateEffectCheckAt: Ms | null;
  /** Pauses before the looks that are still pendingRechecks to a hint that found nothing. */
  pendingRechecks: number[];
  hinted: boolean;
  /** When the last hint came that no look has followed yet. */
  hintedAt: Ms | null;
  /** Looks in a row that the provider did not answer. */
  unansweredRetrieves: number;
  /** Expire calls so far, since when, and when the next is due. */
  expireCalls: number;
  expiringSince: Ms | null;
  nextExpireAt: Ms | null;
};

export type RefundEntry = {
  key: string;
  chargeId: string;
  /** Smallest currency unit. */
  amount: number;
  /** What was asked for: null is all that was left. */
  asked: number | null;
  kind: 'void' | 'refund';
  status: 'pending' | 'succeeded' | 'rejected';
  id: string | null;
  by: 'caller' | 'us' | 'elsewhere';
  /** As `Attributed` spells it. Absent: not known. */
  requestedBy?: string | undefined;
  /** `RefundRequest.nonce` of the request that opened it. */
  nonce?: string | undefined;
  reason: string | null;
  failureCode: string | null;
  failureMessage: string | null;
  createdAt: Ms;
  /** Of money that goes back by itself and was refused: how often, and when it is tried again. */
  refusals: number;
  retryAt: Ms | null;
  /** It was given up in doubt: nothing of it can be under way after this. */
  inFlightUntil: Ms | null;
};

/** The one refund that is being carried out: there is never a second at the same time. */
export type RefundInProgress = PendingCall & {
  key: string;
  stage: 'look' | 'send' | 'unknown';
  /** The provider refused the void: what is left is a refund. */
  voidRefused: boolean;
};

/** Everything a checkout knows, as plain JSON: it survives continue-as-new. */
export type ModelState = {
  attempts: Attempt[];
  charges: Charge[];
  refunds: RefundEntry[];
  opening: Opening | null;
  inProgress: RefundInProgress | null;
  /** The payment that counts: the first charge that was seen successful. */
  acceptedCharge: string | null;
  /** What had been reported when the payment came too late; null when it came in time. */
  lateAfter: CheckoutStatus | null;
  cancelRequested: boolean;
  /** The number of the attempt that is to give way to the next. */
  replacedAttempt: number | null;
  /** When the last charge was seen final, or no charge could come any more. */
  endedAt: Ms | null;
  /** The status last written to the memo: what the world was told, and how often. */
  reported: CheckoutStatus;
  version: number;
  /** Since when the provider has not answered; null while it does. */
  silentSince: Ms | null;
  /** Charges that a hint or a person named and that are not known to be ours yet. */
  unrecognized: { id: string; retrieveAt: Ms; tries: number }[];
  /** A refund that a person says is the one we look for. */
  adopting: string | null;
  /** When the list of charges is searched once more, and from when on. */
  lateEffectCheck: { at: Ms; since: Ms } | null;
  /** The last look before the books are closed was taken. */
  closed: boolean;
  /** It had closed, and money came after that. Absent in what older releases wrote. */
  reopened?: boolean;
  attentions: (Attention & { about: string })[];
  timeline: TimelineEntry[];
};
