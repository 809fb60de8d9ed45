import { z } from 'zod';
import { text } from '../checkouts/fields.js';
import * as examples from '../openapi/resource-examples.js';
import { pageOf, providerId } from '../provider/lists.schema.js';

export const customerPath = z.object({ id: providerId });
export type CustomerPath = z.output<typeof customerPath>;

export const cardPath = z.object({ id: providerId, card_id: providerId });
export type CardPath = z.output<typeof cardPath>;

export const updateCard = z
  .strictObject({
    name: text(255).min(1).optional().meta({ description: `The holder's` }),
    expiration_month: z.int().min(1).max(12).optional(),
    expiration_year: z.int().min(2000).max(9999).optional(),
    postal_code: text(32).nullable().optional().meta({ description: 'Null clears it' }),
    city: text(128).nullable().optional().meta({ description: 'Null clears it' }),
  })
  .refine((change) => Object.keys(change).length > 0, 'needs at least one field')
  .meta({ id: 'UpdateCard', example: examples.cardChange });
export type UpdateCard = z.output<typeof updateCard>;

/** The provider's card. Fields that are not named here are passed on. */
export const cardReply = z
  .looseObject({
    id: z.string(),
    name: z.string().nullish(),
    brand: z.string().nullish(),
    last_digits: z.string().nullish(),
    expiration_month: z.int().nullish(),
    expiration_year: z.int().nullish(),
    postal_code: z.string().nullish(),
    city: z.string().nullish(),
    deleted: z.boolean().nullish(),
  })
  .meta({ id: 'Card' });
export type CardReply = z.output<typeof cardReply>;

export const cardsReply = pageOf(cardReply, 'Cards');

export const customerReply = z
  .looseObject({
    id: z.string(),
    default_card: z.string().nullish(),
    cards: z.looseObject({ data: z.array(cardReply) }).meta({ description: 'The first 100' }),
  })
  .meta({ id: 'Customer' });
export type CustomerReply = z.output<typeof customerReply>;
