import { z } from 'zod';
import { checkoutId, providerId } from '../shared/fields.schema.js';

export const markPath = z.object({ id: providerId });
export type MarkPath = z.output<typeof markPath>;

export const markCharge = z
  .strictObject({ status: z.enum(['successful', 'failed']) })
  .meta({ id: 'MarkCharge', examples: [{ status: 'successful' }] });
export type MarkCharge = z.output<typeof markCharge>;

export const markedCharge = z.object({ id: providerId, status: z.string(), checkout: checkoutId.nullable() }).meta({
  id: 'MarkedCharge',
  examples: [{ id: 'chrg_test_ym45mfiva1bdny558nb', status: 'successful', checkout: 'chk_default_till-7-000142' }],
});
export type MarkedCharge = z.output<typeof markedCharge>;
