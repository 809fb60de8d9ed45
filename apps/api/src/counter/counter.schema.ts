import { z } from 'zod';
import { storeId, terminal } from '../checkouts/checkouts.schema.js';
import { amount, currency, text, time } from '../shared/fields.schema.js';

const DAY_S = 86_400;
/** A tablet on the counter needs a new link once a month. */
const DEFAULT_EXPIRES_S = 30 * DAY_S;
const LONGEST_EXPIRES_S = 366 * DAY_S;

const storeReply = z.object({ id: storeId, name: z.string().nullable() }).nullable();

export const createLink = z
  .strictObject({
    terminal: terminal.meta({ description: 'The till that the link opens, by a name of your own' }),
    store: z
      .strictObject({ id: storeId, name: text(100, 1).optional() })
      .optional()
      .meta({ description: 'The shop of the till' }),
    expires_in: z
      .int()
      .min(60)
      .max(LONGEST_EXPIRES_S)
      .default(DEFAULT_EXPIRES_S)
      .meta({ description: 'Seconds until the link and its sessions expire. Default: 30 days' }),
  })
  .meta({
    id: 'CounterLinkCreate',
    examples: [{ terminal: 'till-7', store: { id: 'silom', name: 'Silom Road' } }],
  });
export type CreateLink = z.output<typeof createLink>;

const LINK_ID = /^clnk_[a-z2-7]{20}$/;
const linkId = z
  .string()
  .max(64)
  .meta({ pattern: LINK_ID.source, examples: ['clnk_k3x5m7p2q4r6s2t4w6y2'] });
export const linkPath = z.object({ id: linkId });
export type LinkPath = z.output<typeof linkPath>;

const linkFields = {
  id: linkId,
  terminal: z.string(),
  store: storeReply,
  created_at: time,
  expires_at: time,
  created_by: z.string(),
};

const link = {
  id: 'clnk_k3x5m7p2q4r6s2t4w6y2',
  terminal: 'till-7',
  store: { id: 'silom', name: 'Silom Road' },
  created_at: '2026-11-21T05:30:18.021Z',
  expires_at: '2026-12-21T05:30:18.000Z',
  created_by: 'back-office',
};

export const linkReply = z
  .object({
    ...linkFields,
    url: z.url().meta({
      description: 'Opens the counter of this till. Anyone with this address can sell there. Only this answer has it',
    }),
  })
  .meta({ id: 'NewCounterLink', examples: [{ ...link, url: 'https://pay.example/counter#WyJjbG5rXyJd.AAECAwQF' }] });
export type LinkReply = z.output<typeof linkReply>;

export const linksReply = z
  .object({ data: z.array(z.object(linkFields).meta({ id: 'CounterLink', examples: [link] })), next_cursor: z.null() })
  .meta({ id: 'CounterLinkPage' });
export type LinksReply = z.output<typeof linksReply>;

export const openSession = z
  .strictObject({ token: z.string().min(1).max(1_024).meta({ description: "The fragment of the link's address" }) })
  .meta({ id: 'CounterSessionCreate', examples: [{ token: 'WyJjbG5rXyJd.AAECAwQF' }] });
export type OpenSession = z.output<typeof openSession>;

const sessionFields = {
  account: z.string().meta({ description: 'The account at the provider' }),
  terminal: z.string(),
  store: storeReply,
  shop: z.string().nullable().meta({ description: 'The name of the merchant, `SHOP_NAME`' }),
  currencies: z.array(currency).meta({ description: 'The currencies of checkouts, the usual one first' }),
  expires_at: time,
  now: time.meta({ description: "The API's clock at the time of the answer" }),
};

const session = {
  account: 'default',
  terminal: 'till-7',
  store: { id: 'silom', name: 'Silom Road' },
  shop: 'Coffee and more',
  currencies: ['THB', 'SGD', 'MYR'],
  expires_at: '2026-12-21T05:30:18.000Z',
  now: '2026-11-21T05:30:20.123Z',
};

export const sessionReply = z.object(sessionFields).meta({ id: 'CounterSession', examples: [session] });
export type SessionReply = z.output<typeof sessionReply>;

export const newSessionReply = z
  .object({
    ...sessionFields,
    session: z.string().meta({ description: 'Send it as `Authorization: Bearer <session>`' }),
  })
  .meta({ id: 'NewCounterSession', examples: [{ ...session, session: 'tills_WyJjbG5rXyJd.AAECAwQF' }] });
export type NewSessionReply = z.output<typeof newSessionReply>;

const counted = z.object({ count: z.int().nonnegative(), amount });

export const todayReply = z
  .object({
    date: z.string().meta({ description: 'The business day' }),
    totals: z.array(
      z.object({
        currency,
        sales: counted.meta({ description: 'Payments of the day' }),
        refunds: counted.meta({ description: 'Refunds and voids of the day' }),
      }),
    ),
  })
  .meta({
    id: 'CounterDay',
    examples: [
      {
        date: '2026-11-21',
        totals: [{ currency: 'THB', sales: { count: 2, amount: 300_000 }, refunds: { count: 0, amount: 0 } }],
      },
    ],
  });
export type TodayReply = z.output<typeof todayReply>;
