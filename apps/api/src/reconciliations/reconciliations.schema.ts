import { BREAK_TYPES, toCsv } from '@tillflow/domain';
import { z } from 'zod';
import {
  ASKER,
  checkoutId,
  currency,
  cursor,
  nextCursor,
  providerId,
  readableTime,
  text,
  time,
  timeBetween,
  wholeNumber,
} from '../shared/fields.schema.js';

const DAY_MS = 86_400_000;
const MOST_DAYS = 31;

export const startReconciliation = z
  .strictObject({
    from: readableTime.meta({ description: 'Payments from this time on are compared' }),
    to: readableTime.meta({
      description: `Payments before this time are compared. Not before \`from\`, and at most ${MOST_DAYS} days after it`,
    }),
    dry_run: z
      .boolean()
      .default(false)
      .meta({ description: 'True: the run only reports differences and heals none. Default: false' }),
  })
  .refine(({ from, to }) => (timeBetween(from, to) ?? 0) >= 0, { path: ['to'], error: 'must not be before from' })
  .refine(({ from, to }) => (timeBetween(from, to) ?? 0) <= MOST_DAYS * DAY_MS, {
    path: ['to'],
    error: `must be at most ${MOST_DAYS} days after from`,
  })
  .meta({
    id: 'StartReconciliation',
    examples: [{ from: '2026-11-20T00:00:00Z', to: '2026-11-21T00:00:00Z', dry_run: false }],
  });
export type StartReconciliation = z.output<typeof startReconciliation>;

export const reconciliationId = z.string().max(200).meta({
  pattern: '^rec_[A-Za-z0-9:.-]{1,64}_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$',
});

export const reconciliationPath = z.object({ id: reconciliationId });
export type ReconciliationPath = z.output<typeof reconciliationPath>;

export const breakPath = reconciliationPath.extend({
  n: z
    .string()
    .max(10)
    .meta({ pattern: '^[1-9][0-9]*$', description: 'The `n` of the break', examples: ['1'] }),
});
export type BreakPath = z.output<typeof breakPath>;

export const acknowledgeBreak = z
  .strictObject({
    reason: text(200, 1)
      .refine((reason) => reason.trim() !== '', 'must say why')
      .meta({ description: 'Stored with the acknowledgement, for people' }),
  })
  .meta({ id: 'AcknowledgeBreak', examples: [{ reason: 'The shop made this refund, ticket 4711' }] });
export type AcknowledgeBreak = z.output<typeof acknowledgeBreak>;

export const listReconciliations = z.strictObject({
  limit: wholeNumber(1, 100).default(20).meta({ description: 'Page size. Default: 20' }),
  cursor: cursor.optional().meta({ description: 'The `next_cursor` of the page before' }),
});
export type ListReconciliations = z.output<typeof listReconciliations>;

export const exportReconciliation = z.strictObject({
  format: z.enum(['csv', 'json']).default('csv').meta({ description: 'Default: csv' }),
});
export type ExportReconciliation = z.output<typeof exportReconciliation>;

const money = z.int().meta({ description: 'In the smallest currency unit' });

const totals = z
  .object({
    currency,
    checkouts: z.int().meta({ description: "Tillflow's paid checkouts" }),
    paid_here: money,
    refunded_here: money,
    charges: z.int().meta({ description: "The provider's paid charges of these checkouts" }),
    paid_there: money,
    refunded_there: money,
    fees: money.meta({ description: 'With VAT' }),
    credited: money.meta({ description: 'What the balance shows for these charges' }),
    foreign: z.int().meta({ description: 'Paid charges of other systems on the same account' }),
    foreign_amount: money,
    breaks: z.int().meta({ description: 'All breaks, also those that are acknowledged or not listed' }),
  })
  .meta({ id: 'ReconciliationTotals' });

const returned = z
  .object({
    currency,
    amount: money,
    fees: money.meta({ description: 'That the provider returned, with VAT' }),
  })
  .meta({ id: 'ReturnedMoney' });

const stated = z.object({ status: z.string().nullable(), amount: money, currency }).meta({ id: 'StatedMoney' });

const uid = z.string().nullable();

const madeBy = z.object({ actor_uid: uid, user_uid: uid, team_uid: uid }).meta({ id: 'MadeBy' });

const acknowledgement = z
  .object({ by: z.string().meta({ description: ASKER }), at: time, reason: z.string() })
  .meta({ id: 'Acknowledgement' });

const breakExample = {
  n: 1,
  type: 'status' as const,
  checkout_id: 'chk_default_till-7-000142',
  charge_id: 'chrg_test_ym45mfiva1bdny558nb',
  refund_id: null,
  transaction_id: 'trxn_test_8d0s6m2xk4vq9p1h7ze',
  receipt_id: null,
  expected: { status: 'awaiting_payment', amount: 150_000, currency: 'THB' },
  actual: { status: 'successful', amount: 150_000, currency: 'THB' },
  age_seconds: 61_200,
  suggested_action: 'pnpm tillflow resolve chk_default_till-7-000142 --look --reason reconciliation',
  healed: true,
  made_by: null,
  acknowledged: null,
};

export const breakReply = z
  .object({
    n: z.int().min(1).meta({ description: 'Names the break in its reconciliation' }),
    type: z.enum(BREAK_TYPES),
    checkout_id: checkoutId.nullable(),
    charge_id: providerId.nullable(),
    refund_id: providerId.nullable(),
    transaction_id: providerId.nullable(),
    receipt_id: providerId.nullable(),
    expected: stated.nullable().meta({
      description:
        "The value in Tillflow's records, or the value that follows from the rates. Null: Tillflow has no record",
    }),
    actual: stated
      .nullable()
      .meta({ description: "The value in the provider's records. Null: the provider has no record" }),
    age_seconds: z.int().nonnegative(),
    suggested_action: z.string().meta({ description: 'A command for an operator' }),
    healed: z.boolean().meta({ description: "Tillflow's records are correct again" }),
    made_by: madeBy.nullable().meta({
      description: "Who made a refund outside, in the names of the provider's event. Null: no event says it",
    }),
    acknowledged: acknowledgement.nullable().meta({ description: 'Null while no person has acknowledged the break' }),
  })
  .meta({ id: 'Break', examples: [breakExample] });

export type BreakReply = z.output<typeof breakReply>;

const summary = {
  id: reconciliationId,
  status: z.enum(['running', 'completed', 'failed']),
  from: time,
  to: time,
  compared_until: time.nullable().meta({
    description:
      'The next run compares the payments after this time, because they are too recent for this run. Null until it is known',
  }),
  dry_run: z.boolean(),
  totals: z.array(totals),
  created_at: time,
  location: z.string().meta({ pattern: '^/v1/reconciliations/', description: 'Where to read the reconciliation' }),
};

const ID = 'rec_1795132800000-1795219200000_01993f5e-8a52-7f4e-9c58-2f1d7f3a9a10';
const LOCATION = `/v1/reconciliations/${ID}`;

export const reconciliationStarted = z
  .object({ id: summary.id, status: summary.status, location: summary.location })
  .meta({ id: 'ReconciliationStarted', examples: [{ id: ID, status: 'running', location: LOCATION }] });
export type ReconciliationStarted = z.output<typeof reconciliationStarted>;

const summaryExample = {
  id: ID,
  status: 'completed' as const,
  from: '2026-11-20T00:00:00.000Z',
  to: '2026-11-21T00:00:00.000Z',
  compared_until: '2026-11-21T00:00:00.000Z',
  dry_run: false,
  totals: [
    {
      currency: 'THB',
      checkouts: 2,
      paid_here: 300_000,
      refunded_here: 50_000,
      charges: 3,
      paid_there: 450_000,
      refunded_there: 50_000,
      fees: 7_944,
      credited: 442_056,
      foreign: 1,
      foreign_amount: 20_000,
      breaks: 1,
    },
  ],
  created_at: '2026-11-21T00:30:00.004Z',
  location: LOCATION,
};

const example = {
  ...summaryExample,
  breaks: [breakExample],
  acknowledged_count: 0,
  foreign: [
    {
      charge_id: 'chrg_test_3n7c5b9d2f4g6h8j0kl',
      amount: 20_000,
      currency: 'THB',
      paid_at: '2026-11-20T09:12:44.000Z',
    },
  ],
  returned: [{ currency: 'THB', amount: 50_000, fees: 0 }],
  omitted: { breaks: 0, foreign: 0 },
  not_compared: [],
  failure: null,
};

/** The example as its CSV. */
export const exportExample = toCsv(example);

export const reconciliationReply = z
  .object({
    ...summary,
    returned: z.array(returned).meta({
      description:
        'Refunds and voids that left the balance in the window, of its payments and of earlier ones. The day reports have the same sums',
    }),
    breaks: z.array(breakReply),
    acknowledged_count: z.int().meta({ description: 'Breaks that a person has acknowledged by now' }),
    foreign: z.array(z.object({ charge_id: providerId, amount: money, currency, paid_at: time })),
    omitted: z
      .object({ breaks: z.int(), foreign: z.int() })
      .meta({ description: 'Breaks and charges that are counted but not listed. Use a shorter window to list them' }),
    not_compared: z
      .array(z.object({ what: z.enum(['receipts']), code: z.string(), detail: z.string() }))
      .meta({ description: "The provider's records that could not be read, and are not compared" }),
    failure: z.object({ code: z.string(), detail: z.string() }).nullable(),
  })
  .meta({ id: 'Reconciliation', examples: [example] });
export type ReconciliationReply = z.output<typeof reconciliationReply>;

const listed = z
  .object({
    ...summary,
    breaks_count: z.int(),
    healed_count: z.int(),
    acknowledged_count: z.int().meta({ description: 'Breaks that a person had acknowledged before the run' }),
  })
  .meta({
    id: 'ReconciliationSummary',
    examples: [{ ...summaryExample, breaks_count: 1, healed_count: 1, acknowledged_count: 0 }],
  });

export const reconciliationsReply = z
  .object({ data: z.array(listed), next_cursor: nextCursor })
  .meta({ id: 'ReconciliationPage' });
export type ReconciliationsReply = z.output<typeof reconciliationsReply>;
