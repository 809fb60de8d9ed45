import { z } from 'zod';

/** A body may be left out: all of its fields may be. */
export const newAttempt = z
  .strictObject({
    after: z.int().min(1).optional().meta({
      description: 'The attempt to be followed; the newest when left out. The same number is the same attempt',
    }),
  })
  .default({})
  .meta({ id: 'NewAttempt' });
export type NewAttempt = z.output<typeof newAttempt>;
