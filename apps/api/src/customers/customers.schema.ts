import { z } from 'zod';
import { providerId, text, withAnyField } from '../shared/fields.schema.js';
import { pageOf } from '../provider/lists.schema.js';

const customerId = providerId.meta({ examples: ['cust_test_3m1kq0v7d2'] });

export const customerPath = z.object({ id: customerId });
export type CustomerPath = z.output<typeof customerPath>;

export const cardPath = z.object({
  id: customerId,
  card_id: providerId.meta({ examples: ['card_test_8f0z5x2c1b'] }),
});
export type CardPath = z.output<typeof cardPath>;

export const updateCard = withAnyField(
  z.strictObject({
    name: text(255, 1).optional().meta({ description: 'The name of the holder' }),
    expiration_month: z.int().min(1).max(12).optional(),
    expiration_year: z.int().min(2000).max(9999).optional(),
    postal_code: text(32).nullable().optional().meta({ description: 'Null clears it' }),
    city: text(128).nullable().optional().meta({ description: 'Null clears it' }),
  }),
).meta({ id: 'UpdateCard', examples: [{ expiration_month: 12, expiration_year: 2029 }] });
export type UpdateCard = z.output<typeof updateCard>;

const example = {
  object: 'card',
  id: 'card_test_8f0z5x2c1b',
  name: 'Somchai Prasert',
  brand: 'Visa',
  last_digits: '4242',
  expiration_month: 12,
  expiration_year: 2029,
  city: 'Bangkok',
  postal_code: '10320',
  deleted: false,
};

/** The provider's card. Fields that are not named here are passed on. */
export const cardReply = z
  .looseObject({
    id: providerId,
    name: z.string().nullish(),
    brand: z.string().nullish(),
    last_digits: z.string().nullish(),
    expiration_month: z.int().nullish(),
    expiration_year: z.int().nullish(),
    postal_code: z.string().nullish(),
    city: z.string().nullish(),
    deleted: z.boolean().nullish(),
  })
  .meta({ id: 'Card', examples: [example] });

export const cardsReply = pageOf(cardReply, 'CardPage');

export const customerReply = z
  .looseObject({
    id: providerId,
    default_card: z.string().nullish(),
    cards: z.looseObject({ data: z.array(cardReply) }).meta({ description: 'The first 100' }),
  })
  .meta({
    id: 'Customer',
    examples: [
      { object: 'customer', id: 'cust_test_3m1kq0v7d2', default_card: example.id, cards: { data: [example] } },
    ],
  });
