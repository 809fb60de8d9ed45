import { UTC_DATES, type VoidRule } from '@tillflow/domain';
import type { FailureCode } from './records/records.js';

/**
 * The decisions of this sandbox where the API reference is silent. A real provider may behave differently. Tests and
 * callers may override each of them.
 */
export type Assumptions = {
  /** Header that selects a version for one request. */
  readonly versionHeader: string;
  /** Versions that the header accepts, oldest first. `PATCH /account/api_version` moves to the last one. */
  readonly versions: readonly string[];
  /** The version of a new account. */
  readonly accountVersion: string;
  readonly accountCountry: string;
  readonly accountCurrency: string;
  readonly supportedCurrencies: readonly string[];
  /** Page size of a list without `limit` (API reference, "Limits"), and the largest page size. */
  readonly defaultLimit: number;
  readonly maximumLimit: number;
  /** Records shown in a list that is embedded in another record. */
  readonly embeddedLimit: number;
  /** Milliseconds from creation to the default `expires_at` of a charge. */
  readonly expiresAfterMs: number;
  /** The status of an unpaid charge after `expires_at`: `expired`, or `failed` with `payment_expired`. */
  readonly unpaidBecomes: 'expired' | 'failed';
  /** `failure_code` of a charge that is marked failed without one. */
  readonly defaultFailureCode: FailureCode;
  /** Fee in hundredths of a percent of the amount, and the VAT on that fee; each is rounded half up. */
  readonly feeBasisPoints: number;
  readonly vatBasisPoints: number;
  /** Milliseconds from a transaction to its `transferable_at`. */
  readonly transferableAfterMs: number;
  /** Withholding tax in hundredths of a percent of a month's fees; 0 for no tax. */
  readonly whtBasisPoints: number;
  /** Taken from the balance with each transfer, smallest unit of its currency. */
  readonly transferFee: number;
  /** Default recipient of a scheduled transfer: the merchant's own bank account. */
  readonly defaultRecipient: string;
  /** Milliseconds from a transfer's sending to its arrival. */
  readonly transferPaidAfterMs: number;
  /** The longest time between a schedule's start and end, in days. */
  readonly maximumScheduleDays: number;
  /** The largest `every` for each period. */
  readonly maximumEvery: { readonly day: number; readonly week: number; readonly month: number };
  /** Tries of an occurrence, one a day. After the last failure the schedule is suspended. */
  readonly scheduleTries: number;
  /** Days shown in `next_occurrences_on`. */
  readonly shownOccurrences: number;
  /** Page size of a search. */
  readonly searchPageSize: number;
  /** Zone of the "transaction date" in the void rule. */
  readonly voidRule: VoidRule;
  /** `webhook_endpoints[]` of one charge. They get events in addition to the account's `webhook_uri`. */
  readonly maximumWebhookEndpoints: number;
  /** Header names of a signed webhook. */
  readonly signatureHeader: string;
  readonly signatureTimestampHeader: string;
  /**
   * Wait before the second, third, … try of a webhook, in ms on the sandbox's clock. After the last one the sandbox
   * stops trying.
   */
  readonly webhookRetriesMs: readonly number[];
  /** Simultaneous deliveries, and the time limit of one (ms, wall time). */
  readonly webhookConcurrency: number;
  readonly webhookTimeoutMs: number;
  /** The longest time that a reordered delivery waits for the next one to leave (ms on the sandbox's clock). */
  readonly webhookHoldMs: number;
  /** The largest form body, in bytes. */
  readonly maximumBodyBytes: number;
  /** The largest dispute document, in bytes. */
  readonly maximumFileBytes: number;
  /** The request limit of an account, on the sandbox's clock; null for no limit. */
  readonly rateLimit: RateLimit | null;
  /** The most requests that `/__sandbox/state` shows. Older ones are dropped and counted. */
  readonly rememberedRequests: number;
};

/** A token bucket: it holds `burst` requests and refills with `per_second`. */
export type RateLimit = {
  readonly burst: number;
  readonly per_second: number;
  /** Whether a refusal carries `Retry-After`. */
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
  webhookConcurrency: 64,
  webhookTimeoutMs: 10 * SECOND,
  webhookHoldMs: 3 * SECOND,
  maximumBodyBytes: 64 * 1_024,
  maximumFileBytes: 10 * 1_024 * 1_024,
  rateLimit: null,
  rememberedRequests: 50_000,
};
