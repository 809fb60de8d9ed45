export {
  addDays,
  businessDay,
  businessDayFinder,
  businessDayOf,
  isBusinessDate,
  isCalendarDate,
  isTimeOfDay,
  isTimeZone,
  lastEndedDay,
  latestBeginning,
  UTC_DAYS,
  type BusinessDay,
  type BusinessDayRule,
} from './business-day.js';
export { applyChargeStatus, chargeStatus, isFinalCharge, type ChargeStatus } from './charge.js';
export { CHECKOUT_STATUSES, isAwaitingPayment, isCheckoutStatus, isPaid, type CheckoutStatus } from './checkout.js';
export {
  ACCOUNT,
  accountOf,
  CHECKOUT_ID,
  checkoutId,
  checkoutWorkflowId,
  DEFAULT_ACCOUNT,
  installationQueue,
  isReference,
  MAX_SLIP_REFERENCE,
  slipReference,
  parseCheckoutId,
  parseCheckoutWorkflowId,
  queueOfAccount,
  REFERENCE,
  type CheckoutId,
  type CheckoutKey,
  OWN_KEY_PREFIX,
} from './ids.js';
export { formatInstant, instant, isInstant, parseInstant, plus, type Instant } from './instant.js';
export {
  chargeLimits,
  CURRENCIES,
  formatMoney,
  isCurrency,
  isWithinChargeLimits,
  decimalsOf,
  minorUnitDecimals,
  type Currency,
  type Money,
} from './money.js';
export {
  describeRefusal,
  leftToRefund,
  limitIn,
  refundKind,
  refuseNewRefund,
  refuseRefund,
  refuseRepetition,
  type KnownRefund,
  type RefundablePayment,
  type RefundLimit,
  type RefundRefusal,
} from './refund.js';
export { mayChangeCheckout, routeEvent, type RoutedEvent } from './routing.js';
export {
  isRefundable,
  isVoidable,
  nextCutOff,
  refundableUntil,
  UTC_DATES,
  voidableUntil,
  voidRule,
  type VoidRule,
} from './windows.js';
export {
  BREAK_TYPES,
  compareBreaks,
  factsOf,
  healsByRetrieve,
  idsOf,
  isOpen,
  withAcknowledgement,
  type Acknowledgement,
  type Break,
  type MadeBy,
} from './reconciliation/breaks.js';
export { toCsv } from './reconciliation/csv.js';
export { dayToCsv } from './reconciliation/day-csv.js';
export {
  DaySums,
  returnedOn,
  tillsPerDay,
  type DayTotals,
  type TillFigures,
  type TillTotals,
} from './reconciliation/day-totals.js';
export { comparePayment } from './reconciliation/compare-payment.js';
export type { Rules } from './reconciliation/rules.js';
export { compareReceipts, monthOf, NO_FEES, type FeesOfMonth, type Receipt } from './reconciliation/compare-receipt.js';
export {
  beginningOf,
  comparable,
  reconcile,
  type ComparedSlice,
  type Foreign,
  type Lookups,
  type Place,
  type Window,
} from './reconciliation/reconcile.js';
export type { Fees, Movement, TillflowCheckout, ProviderCharge } from './reconciliation/records.js';
export { Totals, type CurrencyTotals } from './reconciliation/totals.js';
