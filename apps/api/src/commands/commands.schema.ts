import { z } from 'zod';
import { providerId } from '../shared/fields.schema.js';

/** The answer to a change whose outcome is not known yet. */
export const pendingChange = z
  .object({
    status: z.literal('pending'),
    detail: z.string().meta({ description: 'The change is stored. The same request again answers with its outcome' }),
  })
  .meta({ id: 'PendingChange', examples: [{ status: 'pending', detail: 'The outcome is not known yet' }] });
export type PendingChange = z.output<typeof pendingChange>;

/** The result of a change: the record as the provider shows it afterwards, or that the outcome is not known yet. */
export type Changed<T> =
  | { readonly reply: T; readonly status: 200 }
  | { readonly reply: PendingChange; readonly status: 202 };

/** A record that is gone. */
export const removed = z
  .object({ id: providerId, deleted: z.literal(true) })
  .meta({ id: 'Removed', examples: [{ id: 'card_test_8f0z5x2c1b', deleted: true }] });
export type Removed = z.output<typeof removed>;
