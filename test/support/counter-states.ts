import { untilScreen, type Counter } from './counter.js';
import type { CounterShop } from './counter-shop.js';
import { chargeIdOf } from './stack.js';

/** The screens of sales that go no further. The customer has seen them, and may be gone. */
const ENDED: ReadonlySet<string> = new Set(['paid', 'late', 'returned', 'expired', 'failed', 'cancelled']);

/** A state of a sale, and what people read in it. */
export type SaleState = {
  /** As `data-screen` of both pages says. */
  readonly screen: string;
  /** At the till. */
  readonly says: string;
  /** At the till, until a reload: what became of the person's wish. */
  readonly warns?: string;
  /** On the customer's screen. */
  readonly tells: string;
  /** Brings a new sale into the state. */
  readonly reach: (counter: Counter, shop: CounterShop) => Promise<void>;
};

/** Faults of every request that returns money. @param status 500 leaves the outcome open, 400 refuses */
const noReturns = (status: 400 | 500) =>
  ['/charges/{id}/void', '/charges/{id}/refunds'].map(
    (path) => ({ method: 'POST', path, action: 'status', status, code: 'failed_refund' }) as const,
  );

/** The customer pays after Tillflow has reported that the time is over. */
async function payTooLate(counter: Counter, shop: CounterShop): Promise<void> {
  const chargeId = chargeIdOf(await shop.openSale(counter));
  await shop.stack.expireElsewhere(chargeId);
  await untilScreen(counter.page, 'expired');
  shop.stack.sandbox.mark(chargeId, { status: 'successful', force: true });
}

export const SALE_STATES: Readonly<Record<string, SaleState>> = {
  creating: {
    screen: 'creating',
    says: 'Please wait. Do not charge again.',
    tells: 'One moment, please',
    reach: async (counter, { stack }) => {
      await stack.stopWorker();
      await counter.sell();
    },
  },
  unknown: {
    screen: 'unknown',
    says: 'It is not known yet whether the customer has paid. Do not charge again.',
    tells: 'Please do not pay again.',
    reach: async (counter, { stack }) => {
      stack.sandbox.faults.add([
        { method: 'POST', path: '/charges', action: 'commit_then_reset', times: 1 },
        { method: 'GET', path: '/sources/{id}', action: 'status', status: 500 },
        { method: 'GET', path: '/charges', action: 'status', status: 500 },
      ]);
      await counter.sell();
    },
  },
  awaiting: {
    screen: 'awaiting',
    says: 'The customer can pay now.',
    tells: 'Scan to pay',
    reach: async (counter, shop) => {
      await shop.openSale(counter);
    },
  },
  'confirming, and a cancel is refused': {
    screen: 'checking',
    says: 'The customer may be confirming the payment. Do not charge again.',
    warns: 'The sale ends as cancelled or paid.',
    tells: 'Please do not pay again.',
    reach: async (counter, shop) => {
      const checkout = await shop.openSale(counter);
      shop.stack.sandbox.mark(chargeIdOf(checkout), { status: 'confirming' });
      await counter.press('Cancel the sale');
    },
  },
  paid: {
    screen: 'paid',
    says: 'Paid',
    tells: 'Thank you!',
    reach: async (counter, shop) => shop.pay(await shop.openSale(counter)),
  },
  'paid after its end, and the money is on its way back': {
    screen: 'late',
    says: 'The customer gets the money back. Do not hand over the goods.',
    tells: 'You get your money back.',
    reach: async (counter, shop) => {
      shop.stack.sandbox.faults.add(noReturns(500));
      await payTooLate(counter, shop);
    },
  },
  'paid after its end, and the provider refuses to return the money': {
    screen: 'late',
    says: 'A person must return the money. Do not hand over the goods.',
    tells: 'Please ask at the counter for your money.',
    reach: async (counter, shop) => {
      shop.stack.sandbox.faults.add(noReturns(400));
      await payTooLate(counter, shop);
    },
  },
  'paid after its end, and the money is returned': {
    screen: 'returned',
    says: 'The customer got the money back. Do not hand over the goods.',
    tells: 'You got your money back.',
    reach: payTooLate,
  },
  expired: {
    screen: 'expired',
    says: 'The customer has not paid.',
    tells: 'You have not paid.',
    reach: async (counter, shop) => shop.stack.expireElsewhere(chargeIdOf(await shop.openSale(counter))),
  },
  failed: {
    screen: 'failed',
    says: 'There is not enough money in the account, or its limit is reached.',
    tells: 'You have not paid.',
    reach: async (counter, shop) => {
      const checkout = await shop.openSale(counter);
      shop.stack.sandbox.mark(chargeIdOf(checkout), { status: 'failed', failure_code: 'insufficient_fund' });
    },
  },
  cancelled: {
    screen: 'cancelled',
    says: 'The customer has not paid.',
    tells: 'You have not paid.',
    reach: async (counter, shop) => {
      await shop.openSale(counter);
      await counter.press('Cancel the sale');
    },
  },
};

/** Ends what a state needs of the provider and the worker. */
export async function leave({ screen }: SaleState, { stack }: CounterShop): Promise<void> {
  stack.sandbox.faults.clear();
  if (screen === 'creating') await stack.startWorker();
}

/** What the customer's screen may show after a reload. */
export function customerScreens({ screen }: SaleState): readonly string[] {
  return ENDED.has(screen) ? [screen, 'idle'] : [screen];
}
