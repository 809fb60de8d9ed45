import { ACCOUNT } from '@tillflow/domain';
import { z } from 'zod';
import type { RequestHeader } from '../openapi/decorators.js';

/** Source: assumption, `packages/payments-client/src/assumptions.ts`. */
export const SIGNATURE_HEADERS: readonly RequestHeader[] = [
  {
    name: 'Webhook-Signature',
    required: true,
    description:
      'HMAC-SHA256 in hex over `<Webhook-Signature-Timestamp>.<body>`. Several, comma-separated, while the provider rotates its secret. Not read with `PROVIDER_WEBHOOK_SECRET=off`',
    schema: z.string().meta({ pattern: '^[0-9a-fA-F]{64}(, *[0-9a-fA-F]{64})*$' }),
  },
  {
    name: 'Webhook-Signature-Timestamp',
    required: true,
    description: 'When the provider signed it, in Unix seconds. At most 5 minutes from the clock of the API',
    schema: z.string().meta({ pattern: '^\\d{1,12}$' }),
  },
];

export const webhookPath = z.object({
  account: z
    .string()
    .regex(ACCOUNT)
    .meta({ description: 'The name of the account', examples: ['singapore'] }),
});
export type WebhookPath = z.output<typeof webhookPath>;

/** The API reads the bytes itself, after it has checked their signature. */
export const webhookBody = z.looseObject({}).meta({
  id: 'Webhook',
  description: 'An event as the provider signed it, at most 64 KB',
  examples: [
    {
      object: 'event',
      id: 'evnt_test_d0x0p8jxvyxkd7z96ol',
      key: 'charge.complete',
      data: {
        object: 'charge',
        id: 'chrg_test_ym45mfiva1bdny558nb',
        metadata: { checkout: 'chk_default_till-7-000142', attempt: '1' },
      },
    },
  ],
});

export const webhookReceipt = z
  .object({
    received: z.literal(true),
    outcome: z.enum(['hinted', 'coalesced', 'ignored']).meta({
      description:
        '`hinted`: the checkout reads the charge. `coalesced`: an earlier hint covers it. `ignored`: it concerns no open checkout',
    }),
  })
  .meta({ id: 'WebhookReceipt', examples: [{ received: true, outcome: 'hinted' }] });
export type WebhookReceipt = z.output<typeof webhookReceipt>;
