import { BREAK_TYPES } from '@tillflow/domain';
import { z } from 'zod';
import { readableTime, time, timeBetween } from '../checkouts/fields.js';
import * as examples from '../openapi/examples.js';

const DAY_MS = 86_400_000;
const MOST_DAYS = 31;

export const startReconciliation = z
  .strictObject({
    from: readableTime.meta({ description: 'Payments made from here on are compared' }),
    to: readableTime.meta({ description: 'Payments made before this are compared; at most 31 days after `from`' }),
    dry_run: z.boolean().default(false).meta({ description: 'Nothing is healed: it is only told what was found' }),
  })
  .refine(({ from, to }) => (timeBetween(from, to) ?? 0) >= 0, { path: ['to'], error: 'must not be before from' })
  .refine(({ from, to }) => (timeBetween(from, to) ?? 0) <= MOST_DAYS * DAY_MS, {
    path: ['to'],
    error: `must be at most ${MOST_DAYS} days after from`,
  })
  .meta({ id: 'StartReconciliation', example: examples.reconciliationRequest });
export type StartReconciliation = z.output<typeof startReconciliation>;

export const reconciliationPath = z.object({ id: z.string().max(200) });
export type ReconciliationPath = z.output<typeof reconciliationPath>;

export const listReconciliations = z.strictObject({
  limit: z
    .string()
    .regex(/^\d{1,4}$/)
    .transform(Number)
    .pipe(z.int().min(1).max(100))
    .default(20),
  cursor: z.string().max(4_096).optional(),
});
export type ListReconciliations = z.output<typeof listReconciliations>;

export const exportReconciliation = z.strictObject({ format: z.enum(['csv', 'json']).default('csv') });
export type ExportReconciliation = z.output<typeof exportReconciliation>;

const totals = z
  .object({
    currency: z.string(),
    checkouts: z.int().meta({ description: 'Our paid checkouts' }),
    paid_here: z.int(),
    refunded_here: z.int(),
    charges: z.int().meta({ description: "The provider's paid charges of ours" }),
    paid_there: z.int(),
    refunded_there: z.int(),
    fees: z.int().meta({ description: 'VAT included' }),
    credited: z.int().meta({ description: 'What the balance shows of these charges' }),
    foreign: z.int().meta({ description: 'Paid charges of other systems on the same account' }),
    foreign_amount: z.int(),
    breaks: z.int().meta({ description: 'All that were found, told or not' }),
  })
  .meta({ id: 'ReconciliationTotals' });

const stated = z
  .object({ status: z.string().nullable(), amount: z.int(), currency: z.string() })
  .meta({ id: 'StatedMoney' });

const found = z
  .object({
    type: z.enum(BREAK_TYPES),
    checkout_id: z.string().nullable(),
    charge_id: z.string().nullable(),
    refund_id: z.string().nullable(),
    transaction_id: z.string().nullable(),
    receipt_id: z.string().nullable(),
    expected: stated
      .nullable()
      .meta({ description: 'What our books say, or what follows from the rates; null: nothing' }),
    actual: stated.nullable().meta({ description: 'What the provider says; null: nothing' }),
    age_seconds: z.int().nonnegative(),
    suggested_action: z.string().meta({ description: 'A command for an operator' }),
    healed: z.boolean().meta({ description: 'Our books have caught up since' }),
  })
  .meta({ id: 'Break' });

const summary = {
  id: z.string(),
  status: z.enum(['running', 'completed', 'failed']),
  from: time,
  to: time,
  compared_until: time.nullable().meta({
    description: 'What was paid from here on was too young, and is left to the next run; null until it is known',
  }),
  dry_run: z.boolean(),
  totals: z.array(totals),
  created_at: time,
  location: z.string().meta({ description: 'Where to read it' }),
};

export const reconciliationStarted = z
  .object({ id: summary.id, status: summary.status, location: summary.location })
  .meta({ id: 'ReconciliationStarted' });
export type ReconciliationStarted = z.output<typeof reconciliationStarted>;

export const reconciliationReply = z
  .object({
    ...summary,
    breaks: z.array(found),
    foreign: z.array(z.object({ charge_id: z.string(), amount: z.int(), currency: z.string(), paid_at: time })),
    omitted: z
      .object({ breaks: z.int(), foreign: z.int() })
      .meta({ description: 'Found and counted, but too many to be told: narrow the window to see them' }),
    not_compared: z
      .array(z.object({ what: z.enum(['receipts']), code: z.string(), detail: z.string() }))
      .meta({ description: 'Books that could not be read: nothing is said of them' }),
    failure: z.object({ code: z.string(), detail: z.string() }).nullable(),
  })
  .meta({ id: 'Reconciliation' });
export type ReconciliationReply = z.output<typeof reconciliationReply>;

export const reconciliationsReply = z
  .object({
    data: z.array(
      z.object({ ...summary, breaks_count: z.int(), healed_count: z.int() }).meta({ id: 'ReconciliationSummary' }),
    ),
    next_cursor: z.string().nullable(),
  })
  .meta({ id: 'Reconciliations' });
export type ReconciliationsReply = z.output<typeof reconciliationsReply>;
