import { z } from 'zod';

/** The answer to a change whose outcome is not known yet. */
export const pendingChange = z
  .object({
    status: z.literal('pending'),
    detail: z.string().meta({ description: 'The change is durable; the same request again learns what became of it' }),
  })
  .meta({ id: 'PendingChange' });
export type PendingChange = z.output<typeof pendingChange>;

/** What a change came to: the record as the provider shows it after it, or that nobody knows yet. */
export type Changed<T> =
  | { readonly reply: T; readonly status: 200 }
  | { readonly reply: PendingChange; readonly status: 202 };

/** A record that is gone. */
export const removed = z.object({ id: z.string(), deleted: z.literal(true) }).meta({ id: 'Removed' });
export type Removed = z.output<typeof removed>;
