import { z } from 'zod';
import { providerId } from '../provider/lists.schema.js';

export const markPath = z.object({ id: providerId });
export type MarkPath = z.output<typeof markPath>;

export const markCharge = z
  .strictObject({ status: z.enum(['successful', 'failed']) })
  .meta({ id: 'MarkCharge', example: { status: 'successful' } });
export type MarkCharge = z.output<typeof markCharge>;

export const markedCharge = z
  .object({ id: z.string(), status: z.string(), checkout: z.string().nullable() })
  .meta({ id: 'MarkedCharge' });
export type MarkedCharge = z.output<typeof markedCharge>;
