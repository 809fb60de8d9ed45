export { applyChargeStatus, CHARGE_STATUSES, chargeStatus, isFinalCharge, type ChargeStatus } from './charge.js';
export { CHECKOUT_STATUSES, isAwaitingPayment, isCheckoutStatus, isPaid, type CheckoutStatus } from './checkout.js';
export {
  checkoutId,
  checkoutWorkflowId,
  DEFAULT_ACCOUNT,
  isReference,
  parseCheckoutId,
  type CheckoutId,
  type CheckoutKey,
} from './ids.js';
export { formatInstant, instant, parseInstant, plus, type Instant } from './instant.js';
export {
  addMoney,
  chargeLimits,
  CURRENCIES,
  formatMoney,
  isCurrency,
  isWithinChargeLimits,
  money,
  sameMoney,
  subtractMoney,
  type AmountLimits,
  type Currency,
  type Money,
} from './money.js';
export {
  isRefundable,
  isVoidable,
  refundableUntil,
  UTC_DATES,
  voidableUntil,
  voidRule,
  type VoidRule,
} from './windows.js';
