import { z } from 'zod';
import {
  currency as anyCurrency,
  metadataFields,
  providerId,
  text,
  wholeNumber,
  withOneOf,
} from '../shared/fields.schema.js';
import { asSearchableList, listFields, pageOf } from '../provider/lists.schema.js';

const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;
const WEEKDAY_OF_MONTH = new RegExp(`^(1st|2nd|3rd|4th|last)_(${WEEKDAYS.join('|')})$`);

/** Names in the metadata of a plan's charges. The first three would make it the charge of a checkout. */
const RESERVED_METADATA = ['checkout', 'attempt', 'refund_key', 'plan'] as const;

const currency = z.string().regex(/^[A-Z]{3}$/, 'must be three capital letters');
const amount = z.int().positive().meta({ description: 'In the smallest currency unit' });

const charge = z.strictObject({
  customer: providerId.meta({
    description: 'The customer whose card is charged',
    examples: ['cust_test_3m1kq0v7d2'],
  }),
  card: providerId.optional().meta({ description: "Default: the customer's default card" }),
  amount,
  currency,
  description: text(255).optional(),
  metadata: metadataFields(RESERVED_METADATA).optional(),
});

const transfer = withOneOf(
  z.strictObject({
    recipient: providerId.optional().meta({ description: "Default: the merchant's own bank account" }),
    amount: amount.optional(),
    percentage_of_balance: z.number().gt(0).max(100).multipleOf(0.0001).optional(),
    currency: currency.optional(),
  }),
  'amount',
  'percentage_of_balance',
);

const shared = {
  start_date: z.iso.date().optional().meta({ description: 'Default: today' }),
  end_date: z.iso.date().meta({ description: 'Not before `start_date`' }),
  charge: charge.optional(),
  transfer: transfer.optional(),
};

/** The greatest `every` of each period. Source: assumption, "Schedules and occurrences". */
const every = (max: number) =>
  z.int().min(1).max(max).meta({ description: '1 runs in every period, 2 in every second one, and so on' });

const monthly = z.union([
  z.strictObject({ days_of_month: z.array(z.int().min(1).max(31)).min(1).max(31) }),
  z.strictObject({
    weekday_of_month: z
      .string()
      .regex(WEEKDAY_OF_MONTH, 'must have a form such as 1st_tuesday, 4th_sunday or last_friday')
      .meta({ examples: ['1st_tuesday'] }),
  }),
]);

export const createPlan = withOneOf(
  z.discriminatedUnion('period', [
    z.strictObject({ every: every(365), period: z.literal('day'), on: z.strictObject({}).optional(), ...shared }),
    z.strictObject({
      every: every(52),
      period: z.literal('week'),
      on: z.strictObject({ weekdays: z.array(z.enum(WEEKDAYS)).min(1).max(7) }),
      ...shared,
    }),
    z.strictObject({ every: every(12), period: z.literal('month'), on: monthly, ...shared }),
  ]),
  'charge',
  'transfer',
)
  .refine(({ start_date: start, end_date: end }) => start === undefined || start <= end, {
    error: 'must not be before start_date',
    path: ['end_date'],
  })
  .meta({
    id: 'CreateRecurringPlan',
    examples: [
      {
        every: 1,
        period: 'month',
        on: { days_of_month: [1] },
        start_date: '2026-12-01',
        end_date: '2027-11-30',
        charge: { customer: 'cust_test_3m1kq0v7d2', amount: 50_000, currency: 'THB', description: 'Membership' },
      },
    ],
  });
export type CreatePlan = z.output<typeof createPlan>;

export const planPath = z.object({ id: providerId });
export type PlanPath = z.output<typeof planPath>;

/** What the provider searches plans of charges by. It has no search for transfers. */
const SEARCHED = ['query', 'status', 'active', 'amount', 'created', 'card_last_digits'] as const;

/** Whether the provider's search answers the request, rather than its list. */
export function isSearch(given: { readonly [name in (typeof SEARCHED)[number]]?: unknown }): boolean {
  return SEARCHED.some((name) => given[name] !== undefined);
}

export const listPlans = asSearchableList(
  z.strictObject({
    ...listFields,
    kind: z
      .enum(['charge', 'transfer'])
      .optional()
      .meta({ description: 'Default: both. Transfers cannot be searched' }),
    query: text(200, 1)
      .optional()
      .meta({ description: 'Words to search for. A search takes no `from`, `to`, `offset` and `limit`' }),
    status: z.enum(['running', 'active', 'expiring', 'expired', 'deleted', 'suspended']).optional(),
    active: z
      .enum(['true', 'false'])
      .transform((given) => given === 'true')
      .pipe(z.boolean())
      .optional(),
    amount: wholeNumber(1, 999_999_999_999).optional().meta({ description: 'In the smallest currency unit' }),
    created: z.iso.date().optional().meta({ description: 'The day (UTC)' }),
    card_last_digits: z
      .string()
      .regex(/^\d{4}$/, 'must be four digits')
      .optional(),
  }),
  isSearch,
).refine((given) => given.kind !== 'transfer' || !isSearch(given), {
  error: 'transfer cannot be searched: the provider searches plans of charges only',
  path: ['kind'],
});
export type ListPlans = z.output<typeof listPlans>;

const PLAN = 'schd_test_4g7h0j3k6l';

const occurrence = z
  .looseObject({
    id: providerId,
    status: z
      .string()
      .meta({ description: '`scheduled`, `successful`, `failed`, `skipped`. The provider may add others' }),
    scheduled_on: z.string().nullish(),
    retry_on: z.string().nullish(),
    processed_at: z.string().nullish(),
    message: z.string().nullish().meta({ description: 'Why it failed' }),
    result: z.string().nullish().meta({ description: 'The charge or transfer that it made' }),
  })
  .meta({
    id: 'Occurrence',
    examples: [
      {
        object: 'occurrence',
        id: 'occu_test_6y9u2i5o8p',
        schedule: PLAN,
        scheduled_on: '2026-12-01',
        retry_on: null,
        processed_at: '2026-12-01T00:00:00.000Z',
        status: 'successful',
        message: null,
        result: 'chrg_test_2q5w8e1r4t',
      },
    ],
  });

/** The provider's schedule. Fields that are not named here are passed on. */
export const planReply = z
  .looseObject({
    id: providerId,
    status: z.string().nullish().meta({
      description: '`running`, `active`, `expiring`, `expired`, `deleted`, `suspended`. The provider may add others',
    }),
    active: z.boolean().nullish(),
    every: z.int().nullish(),
    period: z.string().nullish(),
    on: z.looseObject({}).nullish(),
    start_on: z.string().nullish(),
    end_on: z.string().nullish(),
    charge: z.looseObject({ amount: z.int().nullish(), currency: anyCurrency.nullish() }).nullish(),
    transfer: z.looseObject({}).nullish(),
    next_occurrences_on: z.array(z.string()).nullish(),
    occurrences: z
      .looseObject({ data: z.array(occurrence) })
      .nullish()
      .meta({
        description: 'For one plan: the newest 100, the newest first. In a list: those that the provider shows there',
      }),
    created_at: z.string().nullish(),
  })
  .meta({
    id: 'RecurringPlan',
    examples: [
      {
        object: 'schedule',
        id: PLAN,
        status: 'active',
        active: true,
        every: 1,
        period: 'month',
        on: { days_of_month: [1] },
        start_on: '2026-12-01',
        end_on: '2027-11-30',
        charge: { customer: 'cust_test_3m1kq0v7d2', card: null, amount: 50_000, currency: 'THB' },
        next_occurrences_on: ['2027-01-01', '2027-02-01'],
        created_at: '2026-11-21T05:30:18.000Z',
      },
    ],
  });

export const pendingPlan = z
  .looseObject({
    id: providerId.nullable().meta({ description: 'Null while it is not known whether the plan exists' }),
    status: z.literal('pending'),
    detail: z.string(),
  })
  .meta({
    id: 'PendingRecurringPlan',
    examples: [{ object: 'schedule', id: null, status: 'pending', detail: 'The outcome is not known yet' }],
  });
export type PendingPlan = z.output<typeof pendingPlan>;

export const plansReply = pageOf(planReply, 'RecurringPlanPage');
export const occurrencesReply = pageOf(occurrence, 'OccurrencePage');
