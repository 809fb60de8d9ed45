export { applyChargeStatus, CHARGE_STATUSES, chargeStatus, isFinalCharge, type ChargeStatus } from './charge.js';
export { CHECKOUT_STATUSES, isAwaitingPayment, isCheckoutStatus, isPaid, type CheckoutStatus } from './checkout.js';
export {
  checkoutId,
  checkoutWorkflowId,
  DEFAULT_ACCOUNT,
  isReference,
  parseCheckoutId,
  parseCheckoutWorkflowId,
  type CheckoutId,
  type CheckoutKey,
  OWN_KEY_PREFIX,
} from './ids.js';
export { formatInstant, instant, parseInstant, plus, type Instant } from './instant.js';
export {
  addMoney,
  chargeLimits,
  CURRENCIES,
  formatMoney,
  isCurrency,
  isWithinChargeLimits,
  decimalsOf,
  money,
  sameMoney,
  subtractMoney,
  type AmountLimits,
  type Currency,
  type Money,
} from './money.js';
export { leftToRefund, refundKind, refuseRefund, type RefundablePayment, type RefundRefusal } from './refund.js';
export { mayChangeCheckout, routeEvent, type RoutedEvent } from './routing.js';
export {
  isRefundable,
  isVoidable,
  refundableUntil,
  UTC_DATES,
  voidableUntil,
  voidRule,
  type VoidRule,
} from './windows.js';
export {
  BREAK_TYPES,
  compareBreaks,
  healsByLooking,
  idsOf,
  type Break,
  type BreakType,
  type Stated,
} from './reconciliation/breaks.js';
export { toCsv } from './reconciliation/csv.js';
export { examinePayment, type Rules } from './reconciliation/examine.js';
export { examineReceipt, monthOf, NO_FEES, type FeesOfMonth, type Receipt } from './reconciliation/receipts.js';
export {
  beginningOf,
  comparable,
  LISTED_BEFORE_MS,
  reconcile,
  type Foreign,
  type Lookups,
  type Place,
  type Sides,
  type Window,
} from './reconciliation/reconcile.js';
export type { Fees, Movement, OurCheckout, OurRefund, TheirCharge, TheirRefund } from './reconciliation/sides.js';
export { Totals, type CurrencyTotals } from './reconciliation/totals.js';
