/** What every contestant does. */
export const OPERATIONS = ['create', 'retrieve', 'list'] as const;
export type Operation = (typeof OPERATIONS)[number];

/** Charges on the page that is listed. */
export const PAGE_SIZE = 100;

/** What is asked of the provider. The server answers as the provider would to exactly this. */
export const CHARGE = {
  amount: 150_000,
  currency: 'THB',
  source: { type: 'wallet_mpm' },
  description: 'Order 7',
  metadata: { order: '7', till: 'till-3' },
} as const;

/** The same, encoded: those who write HTTP by hand have nothing to encode. */
export const CHARGE_FORM =
  'amount=150000&currency=THB&source%5Btype%5D=wallet_mpm&description=Order%207' +
  '&metadata%5Border%5D=7&metadata%5Btill%5D=till-3';

/** The server ignores which charge it is. */
export const CHARGE_ID = 'chrg_test_5xuyshzbqxn2ojxsdpe';

/** Part of each path; an SDK that knows only its own provider puts it there by itself. */
export const PREFIX = '/v1';
