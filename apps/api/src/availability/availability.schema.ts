import { z } from 'zod';
import { amount, currency, time } from '../shared/fields.schema.js';

export const availabilityReply = z
  .object({
    accepting: z.boolean().meta({
      description:
        'Whether a new checkout makes sense now. False while an operator has paused payments, and while the provider is failing. Only a pause refuses requests',
    }),
    reason: z
      .string()
      .nullable()
      .meta({ description: 'For people: why payments are not accepted. Null while `accepting` is true' }),
    since: time
      .nullable()
      .meta({ description: 'Since when payments are not accepted. Null while `accepting` is true' }),
    provider: z.object({
      status: z.enum(['ok', 'failing', 'unknown']).meta({
        description: '`unknown`: the API has just begun to look, or cannot tell',
      }),
      since: time.nullable().meta({ description: 'Since when this process sees this status. Null while `unknown`' }),
    }),
    currencies: z
      .array(z.object({ currency, minimum: amount, maximum: amount }))
      .meta({ description: 'The currencies of checkouts, and the limits of one payment, both inclusive' }),
  })
  .meta({
    id: 'Availability',
    examples: [
      {
        accepting: true,
        reason: null,
        since: null,
        provider: { status: 'ok', since: '2026-11-21T05:30:00.000Z' },
        currencies: [{ currency: 'THB', minimum: 2_000, maximum: 15_000_000 }],
      },
    ],
  });
export type AvailabilityReply = z.output<typeof availabilityReply>;
