import { UTC_DATES, type VoidRule } from '@tillflow/domain';
import type { FailureCode } from './records/records.js';

/**
 * What the API reference leaves open and this sandbox decides. Every behaviour that a real provider may show
 * otherwise is named here and nowhere else; tests and callers may override each of them.
 */
export type Assumptions = {
  /** Header that selects a version for one request. */
  readonly versionHeader: string;
  /** Versions that the header accepts, oldest first; the last one is what `PATCH /account/api_version` moves to. */
  readonly versions: readonly string[];
  /** The version of a new account. */
  readonly accountVersion: string;
  readonly accountCountry: string;
  readonly accountCurrency: string;
  readonly supportedCurrencies: readonly string[];
  /** Page size of a list without `limit` (API reference, "Limits") and the size that a larger one is lowered to. */
  readonly defaultLimit: number;
  readonly maximumLimit: number;
  /** Records shown in a list that is embedded in another record. */
  readonly embeddedLimit: number;
  /** Milliseconds from creation to `expires_at` of a charge that names none. */
  readonly expiresAfterMs: number;
  /** What an unpaid charge becomes at `expires_at`: `expired`, or `failed` with `payment_expired`. */
  readonly unpaidBecomes: 'expired' | 'failed';
  /** `failure_code` of a charge that is marked failed without one. */
  readonly defaultFailureCode: FailureCode;
  /** Fee in hundredths of a percent of the amount, and the VAT on that fee; each is rounded half up. */
  readonly feeBasisPoints: number;
  readonly vatBasisPoints: number;
  /** Milliseconds from a transaction to its `transferable_at`. */
  readonly transferableAfterMs: number;
  /** Withholding tax in hundredths of a percent of a month's fees; 0 records none. */
  readonly whtBasisPoints: number;
  /** Taken from the balance with each transfer, smallest unit of its currency. */
  readonly transferFee: number;
  /** Whom a scheduled transfer goes to that names no recipient: the merchant's own bank account. */
  readonly defaultRecipient: string;
  /** Milliseconds from a transfer's sending to its arrival. */
  readonly transferPaidAfterMs: number;
  /** The longest time between a schedule's start and end, in days. */
  readonly maximumScheduleDays: number;
  /** The greatest `every` for each period. */
  readonly maximumEvery: { readonly day: number; readonly week: number; readonly month: number };
  /** How often an occurrence is tried, once a day; when the last try fails the schedule is suspended. */
  readonly scheduleTries: number;
  /** Days shown in `next_occurrences_on`. */
  readonly shownOccurrences: number;
  /** Page size of a search. */
  readonly searchPageSize: number;
  /** Zone of the "transaction date" in the void rule. */
  readonly voidRule: VoidRule;
  /** `webhook_endpoints[]` of one charge. They are called in addition to the account's `webhook_uri`. */
  readonly maximumWebhookEndpoints: number;
  /** Header names of a signed webhook. */
  readonly signatureHeader: string;
  readonly signatureTimestampHeader: string;
  /** Wait before the second, third, … try of a webhook, in ms on the sandbox's clock; after the last it is given up. */
  readonly webhookRetriesMs: readonly number[];
  /** Deliveries on the wire at one time, and how long one may take (ms, wall time). */
  readonly webhookConcurrency: number;
  readonly webhookTimeoutMs: number;
  /** A reordered delivery is held until the next one has left, but no longer than this (ms on the sandbox's clock). */
  readonly webhookHoldMs: number;
  /** A form body larger than this (bytes) is refused. */
  readonly maximumBodyBytes: number;
  /** The greatest dispute document, in bytes. */
  readonly maximumFileBytes: number;
  /** Requests that an account may make; null for as many as it likes. Runs on the sandbox's clock. */
  readonly rateLimit: RateLimit | null;
  /** Requests remembered for `/__sandbox/state`; older ones are forgotten and counted. */
  readonly rememberedRequests: number;
};

/** A token bucket: it holds `burst` requests and is filled with `per_second`. */
export type RateLimit = {
  readonly burst: number;
  readonly per_second: number;
  /** Whether a refusal says when to come again. */
  readonly retry_after: boolean;
};

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export const DEFAULT_ASSUMPTIONS: Assumptions = {
  versionHeader: 'Api-Version',
  versions: ['2014-07-27', '2015-11-17', '2017-11-02', '2019-05-29', '2025-05-27', '2025-06-09'],
  accountVersion: '2025-06-09',
  accountCountry: 'TH',
  accountCurrency: 'THB',
  supportedCurrencies: ['THB', 'SGD', 'MYR'],
  defaultLimit: 20,
  maximumLimit: 100,
  embeddedLimit: 20,
  expiresAfterMs: DAY,
  unpaidBecomes: 'expired',
  defaultFailureCode: 'payment_rejected',
  feeBasisPoints: 165,
  vatBasisPoints: 700,
  transferableAfterMs: 7 * DAY,
  whtBasisPoints: 0,
  transferFee: 0,
  defaultRecipient: 'recp_default',
  transferPaidAfterMs: DAY,
  maximumScheduleDays: 36_600,
  maximumEvery: { day: 365, week: 52, month: 12 },
  scheduleTries: 3,
  shownOccurrences: 30,
  searchPageSize: 30,
  voidRule: UTC_DATES,
  maximumWebhookEndpoints: 2,
  signatureHeader: 'Webhook-Signature',
  signatureTimestampHeader: 'Webhook-Signature-Timestamp',
  webhookRetriesMs: [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY],
  webhookConcurrency: 4,
  webhookTimeoutMs: 10 * SECOND,
  webhookHoldMs: 3 * SECOND,
  maximumBodyBytes: 64 * 1_024,
  maximumFileBytes: 10 * 1_024 * 1_024,
  rateLimit: null,
  rememberedRequests: 50_000,
};
