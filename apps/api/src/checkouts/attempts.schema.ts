import { z } from 'zod';
import * as examples from '../openapi/examples.js';

/** A body may be left out: all of its fields may be. */
export const newAttempt = z
  .strictObject({
    after: z.int().min(1).optional().meta({
      description: 'The attempt to be followed; the newest when left out. The same number is the same attempt',
    }),
  })
  .default({})
  .meta({ id: 'NewAttempt', example: examples.newAttempt });
export type NewAttempt = z.output<typeof newAttempt>;
