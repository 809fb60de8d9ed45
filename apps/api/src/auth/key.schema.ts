import { CURRENCIES } from '@tillflow/domain';
import { SCOPES } from '@tillflow/temporal';
import { z } from 'zod';
import { time } from '../shared/fields.schema.js';

export const keyReply = z
  .object({
    name: z.string(),
    account: z.string().meta({ description: 'The account at the provider that the key acts for' }),
    scopes: z.array(z.enum(SCOPES)).meta({ description: 'What the key may do' }),
    stores: z
      .array(z.string())
      .nullable()
      .meta({ description: 'The stores whose checkouts the key may reach. Null: all' }),
    terminals: z
      .array(z.string())
      .nullable()
      .meta({ description: 'The tills whose checkouts the key may reach. Null: all' }),
    not_after: time.nullable().meta({ description: 'When the key expires. Null: never' }),
    refund_limit: z
      .union([z.int().nonnegative(), z.partialRecord(z.enum(CURRENCIES), z.int().nonnegative()), z.null()])
      .meta({
        description:
          'The sum that the key may refund of one checkout without a second person, in the smallest currency unit, or one sum for each currency. Null: no limit',
      }),
  })
  .meta({
    id: 'Key',
    examples: [
      {
        name: 'silom-till-7',
        account: 'default',
        scopes: ['checkouts:read', 'checkouts:write'],
        stores: ['silom'],
        terminals: ['till-7'],
        not_after: '2027-01-31T00:00:00.000Z',
        refund_limit: 50_000,
      },
    ],
  });
export type KeyReply = z.output<typeof keyReply>;
