import { CURRENCIES, isCurrency } from '@tillflow/domain';
import { DEFAULT_POLICY, DEFAULT_RECONCILE_POLICY } from '@tillflow/workflows';
import { z } from 'zod';
import { businessDaySettings, integer, list } from '../settings/settings.js';

const BASE64 =
  /^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$|^(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)$/;
const DAY_MS = 86_400_000;
/** Characters. */
const MAX_SHOP_LINE = 100;
const MAX_ADDRESS_LINES = 6;

/**
 * The settings that each account may have of its own. Every program reads all of them, also those that it does not use:
 * so a wrong `ACCOUNTS_FILE` is wrong for all programs.
 */
export const accountSettings = {
  ...businessDaySettings,
  PROVIDER_BASE_URL: z.url({ protocol: /^https?$/, error: 'must be an http(s) address' }),
  PROVIDER_SECRET_KEY: z
    .string('is needed')
    .regex(/^skey_[\x21-\x39\x3b-\x7e]*$/, 'must be a secret key (skey_…), without blanks and colons'),
  PROVIDER_PUBLIC_KEY: z.string().optional(),
  /** Whether live mode is expected. Unset: the mode of the key. */
  PROVIDER_LIVEMODE: z.enum(['true', 'false'], 'must be true or false').optional(),
  /** The version date of the provider's API. Unset: the version of the account. */
  PROVIDER_API_VERSION: z
    .string()
    .regex(/^\d{4}-\d{2}-\d{2}$/, 'must be a date')
    .optional(),
  /** Requests per second to the provider, of all processes together; 0 is no limit. */
  PROVIDER_REQUESTS_PER_SECOND: integer(0, 0, 100_000),
  /** Several while one is rotated. `off` when the provider does not sign. A webhook is only a hint in any case. */
  PROVIDER_WEBHOOK_SECRET: list().refine(
    (secrets) => (secrets.length === 1 && secrets[0] === 'off') || secrets.every((secret) => BASE64.test(secret)),
    'each must be base64, or off alone',
  ),
  /** The currencies of checkouts. The API refuses any other. */
  CURRENCIES: list()
    .refine((codes) => codes.every(isCurrency), `each must be one of ${CURRENCIES.join(', ')}`)
    .transform((codes) => codes.filter(isCurrency))
    .default([...CURRENCIES]),
  /** The shop, as receipts show it. Unset: receipts show none. */
  SHOP_NAME: printable(MAX_SHOP_LINE).optional(),
  /** Its lines, separated by `|`. */
  SHOP_ADDRESS: printable(MAX_SHOP_LINE * MAX_ADDRESS_LINES)
    .transform((text) =>
      text
        .split('|')
        .map((line) => line.trim())
        .filter((line) => line !== ''),
    )
    .refine(({ length }) => length <= MAX_ADDRESS_LINES, `must have at most ${MAX_ADDRESS_LINES} lines`)
    .default([]),
  SHOP_TAX_ID: printable(MAX_SHOP_LINE).optional(),
  /** The QR network that customers pay through, as receipts name it. */
  QR_NETWORK_NAME: printable(MAX_SHOP_LINE).optional(),
  VOID_DATE_OFFSET_MINUTES: integer(DEFAULT_POLICY.voidDateOffsetMinutes, -720, 840),
  /**
   * Money that arrives after the end was reported: `return` refunds or voids it, `keep` leaves the decision to a
   * person.
   */
  LATE_PAYMENT: z.enum(['return', 'keep']).default(DEFAULT_POLICY.latePayment),
  UNPAID_GRACE_MS: integer(DEFAULT_POLICY.unpaidGraceMs, 0, 30 * DAY_MS),
  POLL_INTERVAL_MS: integer(DEFAULT_POLICY.pollIntervalMs, 10, DAY_MS),
  /** The same while the event tail runs. */
  RELAXED_POLL_INTERVAL_MS: integer(300_000, 10, DAY_MS),
  /** A reconciliation does not compare a payment that is younger than this. The next one does. */
  RECONCILE_MIN_AGE_MS: integer(DEFAULT_RECONCILE_POLICY.youngMs, 0, 86_400_000),
  /** A payout is a break when it comes more than so many days after its payment. 0: it may come at any time. */
  RECONCILE_SETTLEMENT_DAYS: integer(8, 0, 365),
  /** Checkouts kept in memory, 0.17 MB each (`pnpm bench cache`). How to choose: docs/production.md. */
  MAX_CACHED_WORKFLOWS: integer(2_000, 10, 100_000),
};

/** They say who an account is: a further account never gets those of the environment. */
export const IDENTITY = [
  'PROVIDER_SECRET_KEY',
  'PROVIDER_PUBLIC_KEY',
  'PROVIDER_WEBHOOK_SECRET',
  'PROVIDER_LIVEMODE',
  'SHOP_NAME',
  'SHOP_ADDRESS',
  'SHOP_TAX_ID',
] as const satisfies readonly (keyof typeof accountSettings)[];

/** Text without control characters, of at most `max` characters. */
function printable(max: number) {
  return z
    .string()
    .max(max, `must have at most ${max} characters`)
    .refine((text) => !/[\p{Cs}\p{Cc}]/u.test(text), 'must be one line without control characters');
}
